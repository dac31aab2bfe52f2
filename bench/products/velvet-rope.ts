import { type Admission, Shaper } from '../../dist/src/index.js'
import { intervalMs, type Pace, type Payload, type Product } from './product.ts'

/** Nobody is turned away: what is measured is the line, not the rope's length. */
const CAPACITY = 10_000_000

export const velvetRope: Product = {
  name: 'velvet-rope',
  setting: (pace) => `limit '${limitOf(pace)}'`,

  open(pace, start) {
    const shaper = new Shaper<Payload, void>('bench', { limits: { '*': limitOf(pace) } })
    shaper.work((job) => start(job.key, job.data), { concurrency: 100 })
    return (key, data) => shaper.enqueue(key, data).then(assertAccepted)
  },
}

function assertAccepted(admission: Admission): void {
  if (!admission.accepted) throw new Error(`${admission.key} was rejected: ${admission.reason}`)
}

/** Below an interval of 1 ms a limit must name its tolerance. */
export function limitOf(pace: Pace): string {
  const lenient = intervalMs(pace) < 1 ? ', tolerance 10ms' : ''
  const tolerance = pace.isStrict ? ', tolerance 0' : lenient
  return `${CAPACITY}, ${pace.count} per ${pace.periodMs}ms${tolerance}`
}

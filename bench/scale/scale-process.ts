import { Cluster, Redis } from 'ioredis'
import { keysNamed, payload } from '../burst.ts'
import type { Payload } from '../products/product.ts'

/** What the process that measures orders. Each process is a producer or a worker, and open with what was built. */
export interface ScaleOrder {
  readonly role: 'producer' | 'worker'
  /** The path of a socket, or the nodes of a cluster. */
  readonly address: string | readonly { readonly host: string; readonly port: number }[]
  readonly shards: number
  readonly keys: number
  /** Jobs that a producer hands over in one call; 1: singly, 64 in flight. */
  readonly perCall: number
}

/** To a producer: so many jobs, from this number on. To each process: what processor time it has used, and how many it has started. */
export type ScaleQuestion = { readonly hand: number; readonly from: number } | 'state'

export interface ScaleState {
  readonly started: number
  /** Seconds. */
  readonly cpu: number
}

const IN_FLIGHT = 64
/** So fast that no job waits for a slot. */
const LIMIT = '10000000, 1000000/s, tolerance 10ms'

const order: ScaleOrder = JSON.parse(process.argv[2]!)
const { Shaper } = await import('../../dist/src/index.js')
const { address, shards } = order
const connection = typeof address === 'string' ? new Redis(address) : new Cluster([...address])
const shaper = new Shaper<Payload, void>('bench', { limits: { '*': LIMIT }, connection, shards })
shaper.on('error', (error) => console.error(error.message))
let started = 0
if (order.role === 'worker') shaper.work(() => void started++, { concurrency: 100 })
await shaper.ready()

const keys = keysNamed('key', order.keys)
const keyOf = (job: number) => keys[job % keys.length]!

async function hand(jobs: number, from: number): Promise<void> {
  let next = from
  const end = from + jobs
  const { perCall } = order
  const lane = async () => {
    while (next < end) {
      const first = next
      next = Math.min(end, first + perCall)
      const batch = Array.from({ length: next - first }, (_, n) => ({
        key: keyOf(first + n),
        data: payload(first + n),
      }))
      const admissions =
        perCall === 1
          ? [await shaper.enqueue(batch[0]!.key, batch[0]!.data)]
          : await shaper.enqueueMany(batch)
      const refused = admissions.find(({ accepted }) => !accepted)
      if (refused !== undefined) throw new Error(`${refused.key} was rejected`)
    }
  }
  await Promise.all(Array.from({ length: perCall === 1 ? IN_FLIGHT : 1 }, lane))
}

process.on('message', async (question: ScaleQuestion) => {
  if (question !== 'state') {
    await hand(question.hand, question.from)
    process.send!('handed')
    return
  }
  const { user, system } = process.cpuUsage()
  process.send!({ started, cpu: (user + system) / 1e6 } satisfies ScaleState)
})
process.on('disconnect', () => process.exit())
process.send!('ready')

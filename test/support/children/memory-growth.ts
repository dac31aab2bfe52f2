import { SECOND } from '../../../src/core/duration.ts'
import type { MemoryStore } from '../../../src/memory/store/memory-store.ts'
import { BlockCounter } from '../../bounds/executed-blocks.ts'
import { request, start, storeWith, walked } from '../memory-store.ts'

const SIZES = process.env['BOUNDS'] === 'long' ? [1_000, 10_000, 100_000, 400_000] : [1_000, 10_000, 30_000]
const CAPACITY = 100_000_000
const NOW = 1_000_000 * SECOND

interface Lined {
  readonly store: MemoryStore
  readonly ids: string[]
}

function lined(size: number, costOf: (n: number) => number = () => 1): Lined {
  const store = storeWith(`${CAPACITY}, 1/s`, 0)
  const ids = Array.from({ length: size }, (_, n) => {
    const admission = store.admit(request({ cost: costOf(n) }), NOW)
    return admission.accepted ? admission.id : ''
  })
  return { store, ids }
}

/** Starts the first jobs, and ends their attempts. */
function returned(line: Lined, count: number, kind: 'retry' | 'freeze', readyAt: number): Lined {
  const { store } = line
  for (let n = 0; n < count; n++) {
    const job = start(store, NOW + n * SECOND)!
    const error = kind === 'retry' ? { error: 'no' } : {}
    store.finish(job, { kind, readyAt, ...error } as Parameters<MemoryStore['finish']>[1], NOW)
  }
  return line
}

/** The shapes that a line can have. */
const SHAPES: Readonly<Record<string, (size: number) => Lined>> = {
  'one after the other': (size) => lined(size),
  'of different costs': (size) => lined(size, (n) => 1 + (n % 3)),
  'with gaps where jobs were cancelled': (size) => {
    const line = lined(2 * size)
    const left = line.ids.filter((id, n) => n < 5 || n % 7 === 0 || n >= size || !line.store.cancel(id, NOW))
    return { store: line.store, ids: left }
  },
  'of which all but the first and the last were cancelled': (size) => {
    const line = lined(size)
    const left = line.ids.filter((id, n) => n < 5 || n >= size - 60 || !line.store.cancel(id, NOW))
    return { store: line.store, ids: left }
  },
  'with a job that failed': (size) => returned(lined(size), 1, 'retry', NOW),
  'with many that failed': (size) => returned(lined(size), size / 2, 'retry', NOW + 2 * size * SECOND),
  'with one that a freeze gave back': (size) => returned(lined(size), 1, 'freeze', NOW),
}

type Verb = (line: Lined, id: string) => unknown

const VERBS: Readonly<Record<string, Verb>> = {
  'looking up': ({ store }, id) => store.views.job(id, NOW),
  explaining: ({ store }, id) => store.views.facts(id, NOW),
  cancelling: ({ store }, id) => store.cancel(id, NOW),
  auditing: ({ store }) => walked(store.views.audit()),
}
/** Some jobs of each part of the line. */
function chosen({ ids }: Lined): string[] {
  return [0.01, 0.3, 0.5, 0.8, 0.9999].flatMap((part) => {
    const from = Math.min(Math.floor(part * ids.length), ids.length - 10)
    return ids.slice(from, from + 10)
  })
}

// Counts what looking up, explaining and cancelling jobs in lines of several lengths does, and a recount of all, and prints it: in a
// process of its own, where no code was compiled before the counting began.
type Points = (readonly [size: number, blocks: number])[]

const counter = await BlockCounter.open('/src/')
const grown: Record<string, Record<string, Points>> = {}
for (const [name, shape] of Object.entries(SHAPES)) {
  const points: Record<string, Points> = {}
  for (const size of SIZES) {
    const line = shape(size)
    for (const [verbName, verb] of Object.entries(VERBS)) {
      const ids = chosen(line)
      points[verbName] ??= []
      points[verbName].push([size, await counter.during(() => ids.forEach((id) => void verb(line, id)))])
    }
  }
  grown[name] = points
}
const whole: Points = []
for (const size of SIZES) {
  const { store } = lined(size)
  whole.push([size, await counter.during(() => [...store.waiting()])])
}
await counter.close()
console.log(JSON.stringify({ grown, whole }))

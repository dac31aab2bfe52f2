import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import type { Trouble } from './troubles.ts'

/** A handler that ends makes room for the next job in that time, in a worker whose handlers were all busy; microseconds. */
const TAKES_NEXT = 2_000_000

/** When a worker had no handler free. */
export function busy({ workers }: Plan, seen: readonly Seen[]): Trouble[] {
  const troubles: Trouble[] = []
  const running = new Map<string, Set<string>>()
  const fullSince = new Map<string, number>()
  const close = (by: string, until: number) => {
    const from = fullSince.get(by)
    if (from !== undefined) troubles.push({ from, until, bound: TAKES_NEXT, adds: 0, what: `${by} busy` })
    fullSince.delete(by)
  }
  for (const { by, event } of seen.toSorted((a, b) => a.event.at - b.event.at)) {
    const worker = workers[Number(/^worker-(\d+)/.exec(by)?.[1] ?? 0) - 1]
    if (worker === undefined) continue
    const own = running.get(by) ?? new Set()
    running.set(by, own)
    if (event.type === 'start') {
      own.add(event.id)
      if (own.size >= worker.concurrency && !fullSince.has(by)) fullSince.set(by, event.at)
    }
    if ((event.type === 'end' || event.type === 'return') && own.delete(event.id)) {
      if (own.size < worker.concurrency) close(by, event.at)
    }
  }
  for (const by of [...fullSince.keys()]) close(by, Number.POSITIVE_INFINITY)
  return troubles
}

/** A handler that freezes its bucket may die before it has written that down. */
export function frozenUnheard({ jobs }: Plan, seen: readonly Seen[]): Trouble[] {
  const freezes = new Map(
    jobs.flatMap(({ id, handler }) => (handler.freezes === undefined ? [] : [[id, handler] as const])),
  )
  return seen.flatMap(({ event }) => {
    if (event.type !== 'start') return []
    const handler = freezes.get(event.id)
    if (handler === undefined) return []
    const until = event.at + (handler.takes + handler.computes + handler.freezes!) * 1_000
    return [{ from: event.at, until, bound: 1_000_000, adds: 0, what: 'frozen by its handler' }]
  })
}

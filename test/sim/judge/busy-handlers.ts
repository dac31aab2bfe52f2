import { isTurnId } from '../../support/turn-id.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { type Circumstances, gapsOf, type Life, type Span, type Trouble, without } from './troubles.ts'

/** A handler that ends makes room for the next job in that time, in a worker whose handlers were all busy; microseconds. */
const TAKES_NEXT = 2_000_000

/** A worker that a history says is full for a key, since when, and what runs in it. */
interface Worker {
  readonly handlers: number
  /** Keys of the jobs that run, by id. */
  readonly running: Map<string, string>
  readonly fullSince: Map<string, number>
}

/**
 * When no worker had a handler free for a key: in each that was there and heard all ran, or those that did not were kept for other
 * first segments, or for other keys of its own (what `docs/guarantees.md` says of handlers). A history does not tell which of them
 * the worker remembered, so all of the run count.
 */
export function busy({ plan, silences, lives }: Circumstances, seen: readonly Seen[]): Trouble[] {
  const keys = plan.keys.map(({ key }) => key)
  const full = new Map<string, (Span & { readonly key: string })[]>()
  const known = new Map<string, Worker>()
  const note = (by: string, at: number) => {
    const { handlers, running, fullSince } = known.get(by)!
    for (const key of keys) {
      const from = fullSince.get(key)
      if (!isFull(handlers, [...running.values()], key, keys)) {
        if (from !== undefined) full.set(by, [...(full.get(by) ?? []), { key, from, until: at }])
        fullSince.delete(key)
      } else if (from === undefined) fullSince.set(key, at)
    }
  }
  for (const { by, event } of seen.toSorted((a, b) => a.event.at - b.event.at)) {
    const planned = plan.workers[Number(/^worker-(\d+)/.exec(by)?.[1] ?? 0) - 1]
    // A turn takes no handler.
    if (planned === undefined || ('id' in event && isTurnId(event.id))) continue
    const worker = known.get(by) ?? {
      handlers: planned.concurrency,
      running: new Map(),
      fullSince: new Map(),
    }
    known.set(by, worker)
    if (event.type === 'start') worker.running.set(event.id, event.key)
    else if (event.type !== 'end' && event.type !== 'return') continue
    else if (!worker.running.delete(event.id)) continue
    note(by, event.at)
  }
  for (const [by, { fullSince }] of known) {
    const last = [...fullSince].map(([key, from]) => ({ key, from, until: Number.POSITIVE_INFINITY }))
    full.set(by, [...(full.get(by) ?? []), ...last])
  }
  const workers = lives.filter(({ name }) => name.startsWith('worker'))
  return keys.flatMap((key) => {
    const fullFor = (name: string) => (full.get(name) ?? []).filter((span) => span.key === key)
    const holesOf = ({ name }: Life) => [
      ...silences.filter(({ process, isDeath }) => process === name && !isDeath),
      ...fullFor(name),
    ]
    const able = workers.flatMap((life) => without(life, holesOf(life)))
    const isBusy = (gap: Span) =>
      workers.some(({ name }) =>
        fullFor(name).some(({ from, until }) => from < gap.until && until > gap.from),
      )
    return gapsOf(able)
      .filter(isBusy)
      .map((gap) => ({ ...gap, bound: TAKES_NEXT, adds: 0, what: 'workers busy', key }))
  })
}

function isFull(handlers: number, running: readonly string[], key: string, keys: readonly string[]): boolean {
  const free = handlers - running.length
  if (free <= 0) return true
  const segment = segmentOf(key)
  const segments = new Set(keys.map(segmentOf)).size
  const share = Math.ceil(handlers / segments)
  const own = running.filter((other) => segmentOf(other) === segment).length
  // Above its share a segment leaves some free for others.
  const room = Math.max(Math.min(free, share - own), free - kept(handlers, segments))
  if (room <= 0) return true
  const siblings = keys.filter((other) => segmentOf(other) === segment).length
  const ofKey = running.filter((other) => other === key).length
  return ofKey >= Math.ceil(share / siblings) && room <= kept(share, siblings)
}

/** What those that have their share leave free. */
function kept(handlers: number, sharers: number): number {
  return sharers > 1 ? Math.floor(Math.sqrt(handlers)) : 0
}

function segmentOf(key: string): string {
  return key.split('/', 1)[0]!
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

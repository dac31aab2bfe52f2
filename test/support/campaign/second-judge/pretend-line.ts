import { parseLimit } from '../../../../src/core/limit.ts'
import type { HistoryEvent } from '../../../../src/testing.ts'
import { Draws } from '../seeded/draws.ts'
import type { Call, End, Return, Start, Testimony } from './testimony.ts'

/** A history of one line that both judges can read; tests alter it. Times are microseconds. */
export interface Pretended {
  readonly limit: string
  calls: (Call & { /** When the line decided it. */ at: number })[]
  starts: Start[]
  returns: (Return & { at: number; readyAt: number })[]
  ends: (End & { at: number })[]
}

export const KEY = 'k'
const LIMITS = ['3, 20/s', '5, 50/s', '12, 25/s', '4, 10/s, tolerance 0'] as const

interface Job {
  readonly id: string
  readonly cost: number
  attempt: number
  readyAt: number
}

/** What a line that keeps every law might have done: two producers, jobs that fail once, some that are cancelled. */
export function pretendLine(seed: number, jobs = 30): Pretended {
  const draws = new Draws(seed)
  const limit = draws.pick(LIMITS)
  const { capacity, interval, tolerance } = parseLimit(limit)
  const result: Pretended = { limit, calls: [], starts: [], returns: [], ends: [] }
  const line: Job[] = []
  let next = 0
  let passed = 0
  /** A job whose handler still runs does not wait yet. */
  const waitingAt = (at: number) =>
    line.reduce((all, { cost, readyAt }) => all + (readyAt <= at ? cost : 0), 0)

  /** Lets everything depart whose slot is before `until`. */
  const drain = (until: number) => {
    for (let [head] = line; head !== undefined; [head] = line) {
      const slot = Math.max(next, head.readyAt)
      const chance = draws.hits(0.1)
        ? draws.between(0, 3 * interval)
        : draws.between(0, Math.floor(tolerance * 0.9))
      // What is decided later cannot happen earlier.
      const lateness = Math.max(chance, passed - slot)
      const at = slot + lateness
      if (at > until) break
      line.shift()
      const { id, cost, attempt } = head
      result.starts.push({ at, process: 'w', key: KEY, id, cost, attempt })
      next = (slot === next && lateness <= tolerance ? slot : at) + interval * cost
      const done = at + draws.between(100, 2_000)
      if (attempt === 1 && draws.hits(0.1)) {
        result.returns.push({ id, at: done, seenAt: done + 300, isFreeze: false, readyAt: done })
        line.unshift({ id, cost, attempt: 2, readyAt: done })
      } else result.ends.push({ id, at: done, seenAt: done + draws.between(10, 900), outcome: 'completed' })
    }
    passed = until
  }

  let now = 1_000_000
  for (let n = 0; n < jobs; n++) {
    now += draws.between(1_000, Math.floor(interval * 1.7))
    drain(now)
    const id = `j${n}`
    const cost = draws.hits(0.15) ? Math.min(2, capacity) : 1
    const from = now - draws.between(50, 20_000)
    const to = now + draws.between(50, 20_000)
    const fits = waitingAt(now) + cost <= capacity
    const call = { do: 'admit', key: KEY, id, cost, from, to, at: now, place: 0 } as const
    result.calls.push({ ...call, answer: fits ? 'accepted' : 'full' })
    if (!fits) continue
    line.push({ id, cost, attempt: 1, readyAt: now })
    if (!draws.hits(0.1)) continue
    now += 200
    drain(now)
    const place = line.findIndex((job) => job.id === id && job.attempt === 1)
    const cancel = { ...call, do: 'cancel', from: now - 100, to: now + 500, at: now } as const
    result.calls.push({ ...cancel, answer: `${place >= 0}` })
    if (place < 0) continue
    line.splice(place, 1)
    result.ends.push({ id, at: now, seenAt: now + 400, outcome: 'cancelled' })
  }
  drain(Number.POSITIVE_INFINITY)
  return result
}

export function testimonyOf({ limit, calls, starts, returns, ends }: Pretended): Testimony {
  const limits = new Map([[KEY, parseLimit(limit)]])
  return { limits, calls, starts, returns, ends, faults: [], crashes: [], lag: 0, moves: [], losses: [] }
}

/** The same for the first judge, which knows when the line decided. */
export function historyOf({ limit, calls, starts, returns, ends }: Pretended): HistoryEvent[] {
  const answers = calls.flatMap(({ do: what, id, cost, at, answer }): HistoryEvent[] => {
    if (what === 'cancel') return []
    const known = { type: 'answer', at, id, key: KEY, cost } as const
    if (answer === 'accepted') return [{ ...known, accepted: true, departsAt: at }]
    return [{ ...known, accepted: false, reason: 'full', retryAt: Number.POSITIVE_INFINITY }]
  })
  const events: HistoryEvent[] = [
    ...answers,
    ...starts.map((start): HistoryEvent => ({ type: 'start', ...start })),
    ...returns.map(({ id, at, isFreeze, readyAt }): HistoryEvent => {
      return { type: 'return', id, at, reason: isFreeze ? 'freeze' : 'retry', readyAt }
    }),
    ...ends.map(({ id, at, outcome }): HistoryEvent => ({ type: 'end', id, at, outcome })),
  ]
  return [{ type: 'limit', at: 0, key: KEY, limit: parseLimit(limit) }, ...events.sort((a, b) => a.at - b.at)]
}

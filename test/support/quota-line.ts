import type { HistoryEvent } from '../../src/conformance/history.ts'
import { periodAround } from '../../src/core/calendar.ts'
import type { Limit } from '../../src/core/limit.ts'
import type { Quota } from '../../src/core/quota.ts'

const SECOND = 1_000_000

interface Started {
  readonly at: number
  readonly units: Map<Quota, number>
}

export interface Simulated {
  readonly history: HistoryEvent[]
  /** The jobs for which a quota or a place was missing: any earlier start of theirs would have broken a law. */
  readonly heldBack: readonly string[]
}

interface Waiting {
  readonly id: string
  readonly cost: number
  readonly tokens: number | undefined
}

interface Running {
  readonly id: string
  readonly endsAt: number
  readonly start: Started
  settlesAt: number
}

/**
 * A line that keeps the laws of quotas and places by scanning all that ever started: slow, and plain enough to be right. It always
 * starts its next job at the earliest time that the laws allow.
 *
 * @param random numbers from 0 to 1, 1 excluded
 * @param mayIdle some jobs start later than they may
 */
export function simulateLine(
  limit: Limit,
  jobs: number,
  from: number,
  random: () => number,
  mayIdle: boolean,
): Simulated {
  const heldBack: string[] = []
  const pick = (least: number, most: number) => least + Math.floor(random() * (most - least + 1))
  const history: HistoryEvent[] = [{ type: 'limit', at: from, key: 'a', limit }]
  const waiting: Waiting[] = Array.from({ length: jobs }, (_, index) => {
    const tokens = random() < 0.5 ? undefined : pick(1, 4)
    return { id: `j${index}`, cost: pick(1, 3), tokens }
  })
  for (const { id, cost, tokens } of waiting) {
    const costs = tokens === undefined ? {} : { costs: { tokens } }
    history.push({ type: 'answer', at: from, id, key: 'a', cost, accepted: true, departsAt: from, ...costs })
  }
  const started: Started[] = []
  let running: Running[] = []
  let now = from
  let paced = from
  for (const { id, cost, tokens } of waiting) {
    const units = new Map(
      limit.quotas.map((quota) => [quota, quota.unit === undefined ? cost : (tokens ?? quota.each!)]),
    )
    let at = Math.max(now, paced) + (mayIdle && random() < 0.2 ? pick(0, 3 * SECOND) : 0)
    const due = at
    for (;;) {
      // What happens until then happens first, and may make room or take it.
      running = obey(running, at, history, pick)
      const later = earliest(limit, units, started, running, at)
      if (later === at) break
      at = later
    }
    if (at > due) heldBack.push(id)
    const start: Started = { at, units }
    started.push(start)
    history.push({ type: 'start', at, id, key: 'a', cost, attempt: 1 })
    running.push({ id, start, endsAt: at + pick(0, 8 * SECOND), settlesAt: at + pick(0, 4 * SECOND) })
    now = at
    paced = at + limit.interval * cost
  }
  obey(running, Number.POSITIVE_INFINITY, history, pick)
  return { history, heldBack }
}

/** Lets attempts settle and end until `at`, in order. */
function obey(
  before: Running[],
  at: number,
  history: HistoryEvent[],
  pick: (a: number, b: number) => number,
): Running[] {
  let running = before
  for (;;) {
    const next = running
      .map((attempt) => ({ attempt, time: Math.min(attempt.settlesAt, attempt.endsAt) }))
      .sort((a, b) => a.time - b.time)[0]
    if (next === undefined || next.time > at) return running
    const { attempt, time } = next
    if (time === attempt.endsAt) {
      history.push({ type: 'end', at: time, id: attempt.id, outcome: 'completed' })
      running = running.filter((other) => other !== attempt)
      continue
    }
    attempt.settlesAt = Number.POSITIVE_INFINITY
    const tokens = pick(0, 6)
    history.push({ type: 'settle', at: time, id: attempt.id, key: 'a', amounts: { tokens } })
    for (const quota of attempt.start.units.keys())
      if (quota.unit === 'tokens') attempt.start.units.set(quota, tokens)
  }
}

/** A later time, if the start has to wait at `at`: the next at which something that counts stops to count. */
function earliest(
  { quotas, concurrency }: Limit,
  units: ReadonlyMap<Quota, number>,
  started: readonly Started[],
  running: readonly Running[],
  at: number,
): number {
  if (running.length >= concurrency) return Math.min(...running.map(({ endsAt }) => endsAt))
  for (const quota of quotas) {
    for (const [counts, until] of windowsAt(quota, at)) {
      const inside = started.filter((start) => counts(start.at))
      const used = inside.reduce((sum, start) => sum + start.units.get(quota)!, 0)
      if (used + units.get(quota)! > quota.amount && used > 0) {
        return Math.min(...inside.map((start) => until(start.at)), ...running.map(nextOf))
      }
    }
  }
  return at
}

function nextOf({ settlesAt, endsAt }: Running): number {
  return Math.min(settlesAt, endsAt)
}

type Window = readonly [counts: (at: number) => boolean, until: (at: number) => number]

function windowsAt({ window }: Quota, at: number): Window[] {
  if ('length' in window) return [[(start) => start > at - window.length, (start) => start + window.length]]
  const around = [periodAround(window, at - SECOND + 1), periodAround(window, at + SECOND - 1)]
  return around.map((period) => [
    (start) => start > period.from - SECOND && start < period.until + SECOND,
    () => period.until + SECOND,
  ])
}

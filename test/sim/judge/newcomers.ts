import type { Breach, HistoryEvent } from '../../../src/testing.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { travelOf } from './excuses.ts'
import { shortGapOf } from './small-steps.ts'
import type { Circumstances, Life } from './troubles.ts'

/** Until the processes that lived through a step of the clock have read it again and told the store; milliseconds. */
const NOTICED = 1_500
/** Until a process that begins has read the clock for the first time, beside its ways; milliseconds. */
const OPENS = 50
/** The roles that read the clock of Redis. */
export const HAS_CLOCK = /^(?:worker|scheduler|caller)-/

type StartEvent = Extract<HistoryEvent, { type: 'start' }>

/**
 * Whether a start came too early, or beyond a quota, because the clock of Redis was set forward just before its worker first read
 * it: no process tells the store of the step until one that is older reads the clock again, or ever, where none is left (docs/redis.md,
 * what does not hold).
 */
export function isOfNewcomer(
  breach: Breach,
  { plan, struck, lives }: Pick<Circumstances, 'plan' | 'struck' | 'lives'>,
  seen: readonly Seen[],
): boolean {
  const { law, at, id, message } = breach
  if ((law !== 'L2' && law !== 'L10') || /frozen|paused/.test(message)) return false
  const lifeOf = (isIt: (start: StartEvent) => boolean) => {
    const start = seen.find(({ event }) => event.type === 'start' && isIt(event))
    return lives.find(({ name }) => name === start?.by)
  }
  const life = lifeOf((start) => start.id === id && Math.abs(start.at - at) < 1)
  if (life === undefined) return false
  const travel = travelOf(plan)
  const short = shortGapOf(breach)
  /** By how much the clock was set forward in all; milliseconds. */
  const forwardUntil = (time: number) =>
    struck.reduce(
      (sum, { fault, from }) => (fault.kind === 'step' && from <= time ? sum + Math.max(0, fault.by) : sum),
      0,
    )
  return struck.some(({ fault, from }) => {
    if (fault.kind !== 'step' || fault.by <= 0 || at < from) return false
    const noticed = from + (NOTICED + travel) * 1_000
    const begins = from - (OPENS + 6 * travel) * 1_000
    if (readsFrom(life, seen) < begins) return false
    const isExplained = short === undefined || short.least - short.gap <= forwardUntil(at)
    if (at <= noticed) return isExplained
    if (lives.some((other) => other.until > noticed && readsFrom(other, seen) < begins)) return false
    // No process will ever report the step. So quotas forget earlier starts too soon, and a gap after one is too short, by the step at most.
    if (law === 'L10') return at <= from + longestWindow(plan, breach.key)
    if (short === undefined || short.least - short.gap > fault.by) return false
    const before = at - short.gap * 1_000
    const older = lifeOf((start) => Math.abs(start.at - before) < 1)
    return before <= noticed && (older?.from ?? 0) < begins
  })
}

/** From when on a process reads the clock of Redis, and tells the store of a step: a caller does with its first turn. */
function readsFrom({ name, from }: Life, seen: readonly Seen[]): number {
  if (!HAS_CLOCK.test(name)) return Number.POSITIVE_INFINITY
  if (!name.startsWith('caller-')) return from
  return Math.min(...seen.flatMap(({ by, event }) => (by === name ? [event.at] : [])))
}

/** How far the rolling quotas of a key look back, whatever its limit is changed to; microseconds. */
function longestWindow({ keys, totals = [], actions }: Plan, key: string | undefined): number {
  const limits = [...keys, ...totals, ...actions.flatMap((action) => (action.do === 'limit' ? [action] : []))]
  const quotas = limits.flatMap((limit) => (limit.key === key ? (limit.quotas ?? []) : []))
  return Math.max(0, ...quotas.map(({ window }) => (typeof window === 'number' ? window * 1_000 : 0)))
}

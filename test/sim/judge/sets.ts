import { hasParts, type Limit } from '../../../src/core/limit.ts'
import { isRolling } from '../../../src/core/quota.ts'
import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Asked, Left } from '../actors/recorder.ts'
import { isLossy } from '../plan/fault.ts'
import type { Plan } from '../plan/plan.ts'
import { EPOCH } from '../world/process.ts'
import { travelOf } from './excuses.ts'
import { firstLost } from './losses.ts'
import { longestUnnoticed } from './small-steps.ts'

/** From the grant of a slot until it must not be used any more, beside the ways of calls; microseconds. */
export const USABLE = 600_000

/** What is known of a run whose limits are sets. */
export interface Sets {
  readonly plan: Plan
  readonly struck: readonly Struck[]
  readonly asked: readonly Asked[]
  readonly left: readonly Left[]
}

/**
 * Quotas (L10) and places (L11). What a store decided counts from then on, but for a slot that it had granted before. What a store
 * has lost is not judged: from its first lost write until slots that it had granted cannot be used any more; and where a change of
 * a limit may be lost with it, also what comes after.
 *
 * @param settleBefore for how long a replaced limit may be used in what happens before that time; microseconds
 */
export function judgeSets(
  known: Sets,
  history: readonly HistoryEvent[],
  settleBefore: (at: number) => number,
): Breach[] {
  const { plan, asked, left } = known
  if (!history.some((event) => event.type === 'limit' && hasParts(event.limit))) return []
  const granted = USABLE + 4 * travelOf(plan) * 1_000
  const lag = granted + longestAnswer(asked)
  const unheard = [...unanswered(asked, history), ...unansweredReleases(left, history)]
  const whole = [...history, ...unheard].sort((a, b) => a.at - b.at)
  const breaches = spansOf(known, granted).flatMap(({ from, until }) => {
    const before = new Set(
      whole.flatMap((event) => (event.type === 'start' && event.at < from ? [nameOf(event)] : [])),
    )
    // What started before is not judged, so neither is what is settled of it.
    const isOfBefore = (event: HistoryEvent) => event.type === 'settle' && before.has(nameOf(event))
    const part = whole.filter(
      (event) => event.at < until && (event.type === 'limit' || event.at >= from) && !isOfBefore(event),
    )
    const byStore = part.map((event) => onClockOfStore(event, known))
    return checkHistory(byStore, { lag, settle: settleBefore(until), unfinished: true, midway: true })
  })
  const found = breaches
    .filter(({ law }) => law === 'L10' || law === 'L11')
    .map((breach) => ({ ...breach, at: breach.at - aheadOf(plan) }))
  return found.filter(
    ({ id, at }, index) => found.findIndex((same) => same.id === id && same.at === at) === index,
  )
}

/** The parts of a run that are judged, each by itself: until the first fault, until the first loss, and from each loss to the next. */
function spansOf(
  { plan, struck }: Sets,
  granted: number,
): { readonly from: number; readonly until: number }[] {
  const losses = struck.filter(({ fault }) => isLossy(fault)).toSorted((a, b) => a.from - b.from)
  const starts = losses.map((loss) => firstLost(loss, struck))
  const firstFault = Math.min(...struck.map(({ from }) => from))
  const isKept = !plan.actions.some((action) => action.do === 'limit' || action.do === 'unset')
  const after = isKept ? losses : []
  return [
    { from: 0, until: firstFault },
    { from: 0, until: Math.min(...starts) },
    ...after.map(({ until }, index) => ({
      from: until + granted,
      until: Math.min(...starts.slice(index + 1)),
    })),
  ]
}

function aheadOf({ ahead = 0 }: Plan): number {
  return EPOCH + ahead * 1_000
}

/**
 * By its clock the store counts the periods of calendars. When it was set, nothing is said of them; and a lease may end sooner or
 * later. By a step forward that no worker notices, rolling windows end earlier (docs/redis.md, what does not hold).
 */
function onClockOfStore(event: HistoryEvent, { plan, struck }: Sets): HistoryEvent {
  const isSet = struck.some(({ fault }) => fault.kind === 'step')
  const most = longestUnnoticed(plan)
  const unnoticed = struck.reduce(
    (sum, { fault }) =>
      sum + (fault.kind === 'step' && fault.by > 0 && fault.by <= most ? fault.by * 1_000 : 0),
    0,
  )
  const at = event.at + aheadOf(plan)
  switch (event.type) {
    case 'limit':
      return { ...event, at, limit: isSet ? rollingOf(event.limit, unnoticed) : event.limit }
    case 'fault': {
      const { leaseUntil, ...fault } = event
      if (isSet || leaseUntil === undefined) return { ...fault, at }
      return { ...fault, at, leaseUntil: leaseUntil + aheadOf(plan) }
    }
    default:
      return { ...event, at }
  }
}

/** The limit without its calendars, and with windows that are so much shorter. */
function rollingOf(limit: Limit, shorter: number): Limit {
  const quotas = limit.quotas.flatMap((quota) =>
    isRolling(quota.window) ? [{ ...quota, window: { length: quota.window.length - shorter } }] : [],
  )
  return { ...limit, quotas }
}

/** The longest time that the answer to a settling took that counted: from when on it counts in the store, is known no better. */
function longestAnswer(asked: readonly Asked[]): number {
  return Math.max(0, ...asked.map(({ at, until = at, answer }) => (answer === true ? until - at : 0)))
}

/** A start, and what is settled of it. */
function nameOf({ key, fence }: { readonly key: string; readonly fence?: number }): string {
  return `${fence} ${key}`
}

/** What ends an attempt, or shows that it is over. */
const OVER: ReadonlySet<HistoryEvent['type']> = new Set(['start', 'return', 'end', 'release'])

/** A settling that was not answered may have been carried out: then its start counts the least that was asked for. */
function unanswered(asked: readonly Asked[], history: readonly HistoryEvent[]): HistoryEvent[] {
  const settled = new Set(history.flatMap((event) => (event.type === 'settle' ? [nameOf(event)] : [])))
  const starts = new Map(history.flatMap((event) => (event.type === 'start' ? [[nameOf(event), event]] : [])))
  const least = new Map<string, HistoryEvent & { type: 'settle' }>()
  for (const { at, key, fence, amounts, answer } of asked) {
    const name = nameOf({ key, fence })
    const start = starts.get(name)
    if (answer !== undefined || settled.has(name) || start === undefined) continue
    const isOver = history.some(
      (event) =>
        OVER.has(event.type) &&
        'id' in event &&
        event.id === start.id &&
        event.at > start.at &&
        event.at < at,
    )
    if (isOver) continue
    const counted = Object.entries(amounts).map(([unit, units]) => {
      const before = least.get(name)?.amounts[unit] ?? units
      // What the limit says that a job counts is not known here: then it may be nothing.
      return [unit, Math.min(units, before, start.costs?.[unit] ?? 0)] as const
    })
    const event = { type: 'settle', at: Math.max(at, start.at), id: start.id, key, fence } as const
    least.set(name, { ...event, at: least.get(name)?.at ?? event.at, amounts: Object.fromEntries(counted) })
  }
  return [...least.values()]
}

/** A place that was given back, or held for as long as it might be, may be free from then on, also where no answer came. */
function unansweredReleases(left: readonly Left[], history: readonly HistoryEvent[]): HistoryEvent[] {
  const released = new Set(history.flatMap((event) => (event.type === 'release' ? [event.id] : [])))
  const starts = new Map(history.flatMap((event) => (event.type === 'start' ? [[nameOf(event), event]] : [])))
  return left.flatMap(({ at, key, fence }): HistoryEvent[] => {
    const start = starts.get(nameOf({ key, fence }))
    if (start?.isHeld !== true || released.has(start.id)) return []
    return [{ type: 'release', at: Math.max(at, start.at), id: start.id, key }]
  })
}

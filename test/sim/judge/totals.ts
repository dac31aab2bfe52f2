import { isWithin } from '../../../src/conformance/totals.ts'
import { isTotal } from '../../../src/core/key.ts'
import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Recorder, Seen } from '../actors/recorder.ts'
import { isLossy } from '../plan/fault.ts'
import type { Plan } from '../plan/plan.ts'
import { totalsAbove } from '../plan/total-plan.ts'
import { travelOf } from './excuses.ts'
import type { Failure } from './judge.ts'
import { Lines } from './refusals.ts'
import type { Circumstances } from './troubles.ts'

/** With fewer handlers it is they who decide who goes. */
const MANY_HANDLERS = 100
/** How far ahead of their slots jobs are handed over: one and a half times what a pass takes, within these bounds; microseconds. */
const SHORTEST_AHEAD = 50_000
const LONGEST_AHEAD = 250_000
/** Ways of a pass, several times over: it may meet another. */
const WAYS_AHEAD = 30
/** A child may fill so many times the room that its family leaves. */
const SHARE_OF_ROOM = 4

type Answer = Extract<HistoryEvent, { type: 'answer' }>

/** A total while it is surely in force, and what happened then. Microseconds. */
export interface PartOfTotal {
  readonly total: string
  readonly from: number
  readonly until: number
  readonly history: readonly HistoryEvent[]
}

/** Of a key whose total refused a job, nothing is said. */
export function withoutRefusalsOfTotals(
  history: readonly HistoryEvent[],
  seen: readonly Seen[],
): HistoryEvent[] {
  const refused = refusalsOfTotals(seen)
  return history.filter((event) => !refused.has(event))
}

function refusalsOfTotals(seen: readonly Seen[]): ReadonlyMap<HistoryEvent, string> {
  return new Map(seen.flatMap(({ event, total }) => (total === undefined ? [] : [[event, total] as const])))
}

/**
 * Parts a history in what is judged as a whole, where totals last, and in what is said of those that come and go: of each only while it
 * is surely in force, as if it had begun then.
 *
 * @param lagBefore until when all processes know of a change that happens before that time; microseconds
 */
export function partsOfTotals(
  history: readonly HistoryEvent[],
  { actions }: Plan,
  unset: Recorder['unset'],
  lagBefore: (at: number) => number,
): { readonly lasting: readonly HistoryEvent[]; readonly parts: readonly PartOfTotal[] } {
  const going = new Set(actions.flatMap((action) => (action.do === 'unset' ? [action.key] : [])))
  if (going.size === 0) return { lasting: history, parts: [] }
  const lasting = history.filter((event) => !('key' in event && going.has(event.key)))
  const lag = lagBefore(Number.POSITIVE_INFINITY)
  const parts = [...going].flatMap((total) => {
    const comings = history.filter((event) => event.type === 'limit' && event.key === total)
    const goings = unset.filter(({ key }) => key === total)
    return comings.flatMap((coming, index): PartOfTotal[] => {
      if (coming.type !== 'limit') return []
      // What holds for it while another limit settles is not known here.
      const from = coming.at === 0 ? 0 : coming.at + lag
      const next = comings[index + 1]?.at ?? Number.POSITIVE_INFINITY
      const until = Math.min(next, ...goings.filter((one) => one.until > coming.at).map(({ at }) => at))
      if (until <= from) return []
      const before = lasting.filter(
        (event) => event.type === 'limit' && !isTotal(event.key) && event.at < from,
      )
      const during = history.filter(
        (event) => event.at >= from && event.at < until && !('key' in event && isOther(event, total)),
      )
      return [{ total, from, until, history: [...before, { ...coming, at: from }, ...during] }]
    })
  })
  return { lasting, parts }
}

function isOther({ key, type }: HistoryEvent & { readonly key: string }, total: string): boolean {
  return isTotal(key) && (key !== total || type === 'limit')
}

/** Spacing and standstill of totals that come and go. After a loss nothing is said: the change may be lost with it. */
export function judgeParts(
  parts: readonly PartOfTotal[],
  struck: readonly Struck[],
  lagBefore: (at: number) => number,
): Breach[] {
  if (struck.some(({ fault }) => isLossy(fault) || fault.kind === 'step')) return []
  return parts.flatMap(({ total, until, history }) => {
    const lag = lagBefore(until)
    const found = checkHistory(history, { lag, settle: lag, unfinished: true, midway: true })
    return found.filter(({ law, key }) => law === 'L2' && key === total)
  })
}

/** So much of the time of a total may be handed over and not have started; microseconds. */
export function handedBelowTotals(plan: Plan): number {
  const ways = WAYS_AHEAD * travelOf({ ...plan, faults: [] }) * 1_000
  return Math.min(LONGEST_AHEAD, Math.max(SHORTEST_AHEAD, ways))
}

/** Shares are judged where no fault kept a child from what was handed over to it, and where it is not handlers that decide. */
export function countsForTotals(
  { law, at }: Breach,
  { workers, totals = [] }: Plan,
  struck: readonly Struck[],
): boolean {
  if (law !== 'L12') return true
  // What is handed over is bounded by the pace, and takes more of a quota than of that.
  if (totals.some(({ quotas }) => quotas !== undefined)) return false
  const isStruck = struck.some(({ from }) => from <= at)
  return !isStruck && workers.every(({ concurrency }) => concurrency >= MANY_HANDLERS)
}

/**
 * Judges to the unit what totals refused as `full`: there was no room below the total, or the line of the child would have been more
 * than four times what is left of it. In favour of the store counts what it cannot have known, as for keys.
 */
export function judgeRefusalsOfTotals(
  known: Circumstances,
  history: readonly HistoryEvent[],
  seen: readonly Seen[],
  until: number,
): Failure[] {
  const refused = refusalsOfTotals(seen)
  if (refused.size === 0) return []
  const lines = new Lines(known, history, seen)
  const by = new Map(seen.map((one) => [one.event, one.by]))
  const isLate = known.plan.actions.some((action) => action.do === 'unset')
  return [...refused].flatMap(([event, total]): Failure[] => {
    if (event.type !== 'answer' || event.accepted || event.at >= until || isLate) return []
    if (event.reason !== 'full' && event.reason !== 'too-costly') return []
    const limits = lines.limitsAt(total, event.at, by.get(event) ?? '')
    const capacity = Math.min(...limits.map((limit) => limit.capacity))
    if (event.reason === 'too-costly') {
      const isAbove = limits.some((limit) => limit.capacity < event.cost || lines.exceedsQuota(limit, event))
      return isAbove ? [] : [failureOf(event, total, 'as too costly', capacity)]
    }
    const keys = known.plan.keys.map(({ key }) => key)
    const waiting = (path: string) =>
      keys
        .filter((key) => key === path || isWithin(key, path))
        .reduce((sum, key) => sum + lines.unitsAt(key, event), 0)
    const room = capacity - waiting(total)
    const above = totalsAbove(known.plan, event.key)
    const child = above[above.indexOf(total) + 1] ?? event.key
    if (event.cost > room || waiting(child) + event.cost > SHARE_OF_ROOM * room) return []
    return [
      failureOf(event, total, `as full while at most ${capacity - room} units could wait below it`, capacity),
    ]
  })
}

function failureOf({ at, id, key, cost }: Answer, total: string, what: string, capacity: number): Failure {
  const message = `total ${total}: ${id} of ${key} (cost ${cost}) was refused ${what}, expected room for ${capacity}`
  return { law: 'refusal', at, message }
}

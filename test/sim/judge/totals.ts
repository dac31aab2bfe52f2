import { isWithin } from '../../../src/conformance/totals.ts'
import { isTotal } from '../../../src/core/key.ts'
import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Recorder } from '../actors/recorder.ts'
import { isLossy } from '../plan/fault.ts'
import type { Plan } from '../plan/plan.ts'
import { goingTotals, passingTotals, totalsAbove } from '../plan/total-plan.ts'
import { travelOf } from './excuses.ts'

/** With fewer handlers it is they who decide who goes. */
const MANY_HANDLERS = 100
/** How far ahead of their slots jobs are handed over: one and a half times what a pass takes, within these bounds; microseconds. */
const SHORTEST_AHEAD = 50_000
const LONGEST_AHEAD = 250_000
/** Ways of a pass, several times over: it may meet another. */
const WAYS_AHEAD = 30
/** A total while it is surely in force, and what happened then. Microseconds. */
export interface PartOfTotal {
  readonly total: string
  readonly from: number
  readonly until: number
  readonly history: readonly HistoryEvent[]
}

/**
 * Parts a history in what is judged as a whole, where totals last, and in what is said of those that come and go: of each only while it
 * is surely in force, as if it had begun then. One that comes late and stays is one that lasts, from the time on when all keys below it
 * are surely counted; where its coming may have been lost, nothing is said of it.
 *
 * @param lagBefore until when all processes know of a change that happens before that time; microseconds
 */
export function partsOfTotals(
  history: readonly HistoryEvent[],
  plan: Plan,
  unset: Recorder['unset'],
  struck: readonly Struck[],
  lagBefore: (at: number) => number,
): { readonly lasting: readonly HistoryEvent[]; readonly parts: readonly PartOfTotal[] } {
  const passing = passingTotals(plan)
  if (passing.size === 0) return { lasting: history, parts: [] }
  const going = goingTotals(plan)
  const lag = lagBefore(Number.POSITIVE_INFINITY)
  const isSure = !struck.some(mayUndo)
  const lasting = inTime(
    history.flatMap((event) => {
      if (!('key' in event && passing.has(event.key))) return event
      if (going.has(event.key) || !isSure) return []
      const coming = history.find((other) => other.type === 'limit' && other.key === event.key)
      return coming === undefined ? [] : { ...event, at: Math.max(event.at, coming.at + lag) }
    }),
  )
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

/** After a loss a change may be lost with it. */
function mayUndo({ fault }: Struck): boolean {
  return isLossy(fault) || fault.kind === 'step'
}

function inTime(events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.toSorted((a, b) => a.at - b.at)
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
  if (struck.some(mayUndo)) return []
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

/**
 * Shares are judged where no fault kept a child from what was handed over to it, and where it is not handlers that decide; and where it
 * is sure which children a total has.
 *
 * @param struck faults, and deaths of processes by their own handlers
 * @param lasting the history, in which a total that comes late comes when it surely counts
 */
export function countsForTotals(
  { law, at, key }: Breach,
  plan: Plan,
  struck: readonly Pick<Struck, 'from'>[],
  lasting: readonly HistoryEvent[],
): boolean {
  if (law === 'L13') return passingTotals(plan).size === 0 && !isStruck(struck, at) && hasManyHandlers(plan)
  if (law !== 'L12') return true
  // What is handed over is bounded by the pace, and takes more of a quota than of that.
  if (plan.totals?.some(({ quotas }) => quotas !== undefined)) return false
  const above = totalsAbove(plan, key ?? '')
  const isUnsure = [...passingTotals(plan)].some((path) => {
    if (!above.some((total) => isWithin(path, total))) return false
    const coming = lasting.find((event) => event.type === 'limit' && event.key === path)
    return coming === undefined || at < coming.at
  })
  return !isUnsure && !isStruck(struck, at) && hasManyHandlers(plan)
}

function isStruck(struck: readonly Pick<Struck, 'from'>[], at: number): boolean {
  return struck.some(({ from }) => from <= at)
}

function hasManyHandlers({ workers }: Plan): boolean {
  return workers.every(({ concurrency }) => concurrency >= MANY_HANDLERS)
}

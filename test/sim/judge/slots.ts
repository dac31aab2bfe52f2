import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import { isLossy } from '../plan/fault.ts'
import { travelOf } from './excuses.ts'
import { firstLost } from './losses.ts'
import { USABLE } from './sets.ts'
import type { Circumstances, Span } from './troubles.ts'

/**
 * A slot is granted at most 0.25 s ahead and may be used for 0.25 s, whatever keeps its worker busy: no start comes later than that
 * after the begin of a freeze or a pause, or by the pace of a limit that was replaced, except where it is not known when that was.
 * Once the store has lost something, or its clock was set, that is said of the freezes and pauses that begin afterwards.
 */
export function judgeSlots(
  { plan, struck, unsure }: Pick<Circumstances, 'plan' | 'struck' | 'unsure'>,
  history: readonly HistoryEvent[],
): Breach[] {
  const lag = USABLE + 4 * travelOf(plan) * 1_000
  const found = spansOf(struck).flatMap(({ from, until }) => {
    const isOfBefore = ({ type, at }: HistoryEvent) => at < from && (type === 'freeze' || type === 'pause')
    const known = history.filter((event) => event.at < until && !isOfBefore(event))
    return checkHistory(known, { lag, settle: lag, unfinished: true }).filter(
      ({ at, message }) => from === 0 || (at >= from && /while the key was (?:frozen|paused)/.test(message)),
    )
  })
  return found.filter(
    ({ law, at }) => law === 'L2' && !unsure.some((doubt) => doubt.from <= at && at <= doubt.until + lag),
  )
}

/** Between what the store lost and the times at which its clock was set. */
function spansOf(struck: readonly Struck[]): Span[] {
  const cuts = struck.flatMap((one) => {
    if (isLossy(one.fault)) return [{ from: firstLost(one, struck), until: one.until }]
    return one.fault.kind === 'step' ? [{ from: one.from, until: one.from }] : []
  })
  return [0, ...cuts.map(({ until }) => until)].map((from) => {
    const later = cuts.flatMap((cut) => (from === 0 || cut.until > from ? [cut.from] : []))
    return { from, until: Math.min(...later) }
  })
}

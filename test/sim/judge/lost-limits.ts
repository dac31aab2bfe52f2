import { isWithin } from '../../../src/conformance/totals.ts'
import type { Limit } from '../../../src/core/limit.ts'
import type { Breach, HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import { isLossy } from '../plan/fault.ts'
import { firstLost } from './losses.ts'
import { shortGapOf } from './small-steps.ts'

/** A process knows of a change by then: it asks for the rule book twice a second. Microseconds. */
const KNOWN_BY = 1_500_000
/** Gaps are told in thousandths of a millisecond. Microseconds. */
const ROUNDING = 2

/**
 * Whether a start came too early by a limit that may be lost: it was set so shortly before a restart that lost writes that no other
 * process knew of it. Then a limit of before is in force again, and its gaps hold, until the next change.
 */
export function isOfLostLimit(
  breach: Breach,
  struck: readonly Struck[],
  history: readonly HistoryEvent[],
): boolean {
  const { law, key, at } = breach
  if (law !== 'L2' || key === undefined) return false
  const changes = history.flatMap((event) => (event.type === 'limit' && event.key === key ? [event] : []))
  const losses = struck.filter(({ fault }) => isLossy(fault))
  return losses.some((loss) => {
    const since = firstLost(loss, struck) - KNOWN_BY
    const isLost = changes.some((change) => change.at > 0 && change.at >= since && change.at <= loss.from)
    if (!isLost || at < loss.from) return false
    if (changes.some((change) => change.at > loss.from && change.at <= at - KNOWN_BY)) return false
    const before = changes.findLastIndex((change) => change.at < since)
    const back = changes.slice(Math.max(0, before)).filter((change) => change.at <= at)
    return gapHolds(
      breach,
      history,
      back.map(({ limit }) => limit),
    )
  })
}

/** Whether the gap is long enough for one of the limits; true where another rule of spacing was broken. */
function gapHolds(breach: Breach, history: readonly HistoryEvent[], limits: readonly Limit[]): boolean {
  const short = shortGapOf(breach)
  if (short === undefined) return true
  const earlier = breach.at - short.gap * 1_000
  const start = history.find(
    (event) => event.type === 'start' && isOf(event.key, breach.key!) && Math.abs(event.at - earlier) < 1,
  )
  if (start?.type !== 'start') return true
  return limits.some(
    ({ interval, tolerance }) => short.gap * 1_000 >= interval * start.cost - tolerance - ROUNDING,
  )
}

function isOf(key: string, name: string): boolean {
  return key === name || isWithin(key, name)
}

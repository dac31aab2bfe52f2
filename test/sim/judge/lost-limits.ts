import type { Breach, HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import { isLossy } from '../plan/fault.ts'
import { firstLost } from './losses.ts'

/** A process knows of a change by then: it asks for the rule book twice a second. Microseconds. */
const KNOWN_BY = 1_500_000

/**
 * Whether a start came too early by a limit that may be lost: it was set so shortly before a restart that lost writes that no other
 * process knew of it. Then the limit of before is in force again.
 */
export function isOfLostLimit(
  { law, key, at }: Breach,
  struck: readonly Struck[],
  history: readonly HistoryEvent[],
): boolean {
  if (law !== 'L2') return false
  const losses = struck.filter(({ fault }) => isLossy(fault))
  return losses.some((loss) => {
    const since = firstLost(loss, struck) - KNOWN_BY
    return history.some(
      (event) =>
        event.type === 'limit' &&
        event.key === key &&
        event.at > 0 &&
        event.at >= since &&
        event.at <= loss.from &&
        loss.from <= at,
    )
  })
}

import { isTotal } from '../../../src/core/key.ts'
import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { HistoryRecord } from './history-file.ts'

/** What tells one start from all others. */
export const nameOfStart = ({ at, id }: { readonly at: number; readonly id: string }) => `${at} ${id}`

/** The starts whose handlers found in their first statement that their slots had passed. */
export function missedSlotsIn(records: readonly HistoryRecord[]): Set<string> {
  return new Set(records.flatMap((record) => (record.kind === 'missed-slot' ? [nameOfStart(record)] : [])))
}

/**
 * Without what a process explains that was stopped between its last look at the clock and the handler. The next start of its key waits
 * for it; but others below a total have their slots, and come too close. Its signal was aborted, so it makes no call.
 */
export function withoutMissedSlots(
  breaches: readonly Breach[],
  history: readonly HistoryEvent[],
  records: readonly HistoryRecord[],
): Breach[] {
  const missed = missedSlotsIn(records)
  const isOfTotal = ({ law, key = '' }: Breach) => law === 'L2' && isTotal(key)
  if (missed.size === 0 || !breaches.some(isOfTotal)) return [...breaches]
  const rest = history.filter((event) => event.type !== 'start' || !missed.has(nameOfStart(event)))
  const left = checkHistory(rest, { unfinished: true }).filter(isOfTotal).map(nameOfBreach)
  return breaches.filter((breach) => !isOfTotal(breach) || left.includes(nameOfBreach(breach)))
}

const nameOfBreach = ({ key, at, id }: Breach) => `${key} ${at} ${id}`

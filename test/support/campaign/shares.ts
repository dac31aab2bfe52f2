import { totalsIn } from '../../../src/conformance/totals.ts'
import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'

/**
 * What may have been handed over and not have started, as time of the total: a look-ahead of 250 ms, and as much as a busy machine
 * keeps one of several workers from the jobs that it holds, which others go past. Microseconds.
 */
const HANDED = 1_000_000

/** How fairly totals were shared from a time on, as if each had got its limit then (L12). */
export function unfairFrom(from: number, history: readonly HistoryEvent[]): Breach[] {
  const totals = totalsIn(history)
  const limits = history.flatMap((event) =>
    event.type === 'limit' && totals.includes(event.key) && event.at <= from ? [{ ...event, at: from }] : [],
  )
  const renewed = [...history, ...limits].sort((a, b) => a.at - b.at)
  return checkHistory(renewed, { handed: HANDED, unfinished: true }).filter(
    ({ law, at }) => law === 'L12' && at > from,
  )
}

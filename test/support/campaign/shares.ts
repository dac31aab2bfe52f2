import { isTotal } from '../../../src/core/key.ts'
import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import { heldUp } from './held-up.ts'
import type { HistoryRecord } from './history-file.ts'

/**
 * What may have been handed over and not have started, as time of the total: a look-ahead of 250 ms, and as much as a busy machine
 * keeps one of several workers from the jobs that it holds, which others go past. Microseconds.
 */
const HANDED = 1_000_000

/**
 * How fairly totals were shared in a part of a history (L12), as if each had got its limit when it begins.
 *
 * @param stoodFor for so long processes were held up then: what they held could not start
 */
export function judgeSharesWithin(
  history: readonly HistoryEvent[],
  from: number,
  until: number,
  stoodFor = 0,
): Breach[] {
  const seen = history.filter(({ at }) => at < until)
  const limits = seen.flatMap((event) =>
    event.type === 'limit' && isTotal(event.key) && event.at <= from ? [{ ...event, at: from }] : [],
  )
  const renewed = [...seen, ...limits].sort((a, b) => a.at - b.at)
  const breaches = checkHistory(renewed, { handed: HANDED + stoodFor, unfinished: true })
  return breaches.filter(({ law, at }) => law === 'L12' && at > from)
}

/** For how long processes were held up in that time, all together, by their own records; microseconds. */
export function standstillWithin(
  files: ReadonlyMap<string, readonly HistoryRecord[]>,
  from: number,
  until: number,
): number {
  return heldUp(files)
    .filter((span) => span.from < until && span.until > from)
    .reduce((sum, span) => sum + span.until - span.from, 0)
}

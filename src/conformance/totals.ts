import { isTotal } from '../core/key.ts'
import type { HistoryEvent } from './history.ts'

/** How long a total was in force: from the event that set it, to the one that unset it or the end, by their places in the history. */
export interface Period {
  readonly total: string
  readonly from: number
  readonly until: number
}

/** The periods of all totals of which a history tells. */
export function periodsIn(history: readonly HistoryEvent[]): Period[] {
  const periods: Period[] = []
  const begun = new Map<string, number>()
  const end = (total: string, until: number) => {
    const from = begun.get(total)
    if (from !== undefined) periods.push({ total, from, until })
    begun.delete(total)
  }
  for (const [index, event] of history.entries()) {
    if (event.type === 'unset') end(event.key, index)
    else if (event.type === 'limit' && isTotal(event.key) && !begun.has(event.key))
      begun.set(event.key, index)
  }
  for (const total of [...begun.keys()]) end(total, history.length)
  return periods
}

/** The history until the end of a period, as if the total had not been there before. */
export function* untilEndOf(
  history: readonly HistoryEvent[],
  { total, from, until: end }: Period,
): Generator<HistoryEvent> {
  for (const [index, event] of history.entries()) {
    if (index === end) return
    const isBefore = index < from && (event.type === 'limit' || event.type === 'unset') && event.key === total
    if (!isBefore) yield event
  }
}

/** Whether a key, or another total, belongs to the family of a total. */
export function isWithin(key: string, total: string): boolean {
  return key !== total && (key.startsWith(total) || key === total.slice(0, -1))
}

/**
 * The history of a family as if it were that of one key, whose limit is the total. Limits, freezes and pauses of its members are left
 * out, and so are refusals, for which a member alone may be the reason.
 */
export function* asOneKey(history: Iterable<HistoryEvent>, total: string): Generator<HistoryEvent> {
  for (const event of history) {
    if (!('key' in event)) yield event
    else if (event.key === total) yield event
    else if (isWithin(event.key, total) && isOfJob(event)) yield { ...event, key: total }
  }
}

function isOfJob(event: HistoryEvent): boolean {
  if (event.type === 'answer') return event.accepted
  return event.type === 'start' || event.type === 'settle' || event.type === 'release'
}

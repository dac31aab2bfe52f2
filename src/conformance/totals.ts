import { isTotal } from '../core/key.ts'
import type { HistoryEvent } from './history.ts'

/** The totals of which a history tells, such as `stripe/`. */
export function totalsIn(history: readonly HistoryEvent[]): string[] {
  const totals = new Set<string>()
  for (const event of history) {
    if (event.type === 'limit' && isTotal(event.key)) totals.add(event.key)
  }
  return [...totals]
}

/** Whether a key, or another total, belongs to the family of a total. */
export function isWithin(key: string, total: string): boolean {
  return key !== total && (key.startsWith(total) || key === total.slice(0, -1))
}

/**
 * The history of a family as if it were that of one key, whose limit is the total. Limits, freezes and pauses of its members are left
 * out, and so are refusals, for which a member alone may be the reason.
 */
export function* asOneKey(history: readonly HistoryEvent[], total: string): Generator<HistoryEvent> {
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

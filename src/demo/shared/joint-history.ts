import type { HistoryEvent } from '../../conformance/history.ts'
import { MILLISECOND } from '../../core/duration.ts'

/**
 * A start has the latest time at which it can have begun, by an inexact clock. Redis may have known of it, and
 * reassigned its place, this much earlier.
 */
const HEARD_BEFORE = 20 * MILLISECOND

/**
 * Merges the records of several processes into one history, in the order of their common clock. Each records the limit
 * of a key when it first sees the key: the first record is kept. Audits are made at the end.
 */
export function joinHistories(histories: readonly (readonly HistoryEvent[])[]): HistoryEvent[] {
  const unsorted = histories.flat()
  const acceptedAt = new Map<string, number>()
  for (const event of unsorted)
    if (event.type === 'answer' && event.accepted) acceptedAt.set(event.id, event.at)
  const place = (event: HistoryEvent) => {
    if (event.type !== 'start') return event.at
    return Math.max(event.at - HEARD_BEFORE, acceptedAt.get(event.id) ?? Number.NEGATIVE_INFINITY)
  }
  const events = unsorted.sort((a, b) => place(a) - place(b) || rank(a) - rank(b))
  const end = events.reduce((latest, { at }) => Math.max(latest, at), 0)
  const limited = new Set<string>()
  const past = events.filter((event) => {
    if (event.type !== 'limit') return event.type !== 'audit'
    if (limited.has(event.key)) return false
    limited.add(event.key)
    return true
  })
  const audits = events.filter((event) => event.type === 'audit').map((event) => ({ ...event, at: end }))
  return [...past, ...audits]
}

function rank({ type }: HistoryEvent): number {
  if (type === 'limit') return 0
  return type === 'start' ? 2 : 1
}

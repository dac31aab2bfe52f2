import type { HistoryEvent } from '../../../src/testing.ts'
import type { Recorder, Seen } from '../actors/recorder.ts'

/**
 * Jobs that went back into their lines though no process heard of it: a handler failed or froze its bucket, the store
 * heard of it, its answer was lost, and by the time of the second one the job had been handed over again, or had ended. That the
 * job starts once more shows it, or that it expires or is cancelled: no job does, or is, while it runs.
 */
export function lostReturns(
  history: readonly HistoryEvent[],
  settled: Recorder['settled'],
): Extract<HistoryEvent, { type: 'return' }>[] {
  return settled.flatMap(({ at, id, attempt, reason }) => {
    const own = history.filter((event) => 'id' in event && event.id === id).toSorted((a, b) => a.at - b.at)
    const from = own.findLastIndex((event) => event.type === 'start' && event.at <= at)
    const next = own
      .slice(from + 1)
      .find(({ type }) => type === 'start' || type === 'return' || type === 'end')
    // It had ended before, unheard: what the handler came to is of a lease that was over.
    if (next !== undefined && next.at < at) return []
    const expected = reason === 'retry' ? attempt + 1 : attempt
    const hasReturned =
      next?.type === 'start'
        ? next.attempt === expected
        : next?.type === 'end' && (next.outcome === 'expired' || next.outcome === 'cancelled')
    return hasReturned ? [{ type: 'return', at, id, reason, readyAt: at }] : []
  })
}

/** What the store knows beside what processes saw. */
export function withLost(seen: readonly Seen[], lost: readonly HistoryEvent[]): Seen[] {
  return [...seen, ...lost.map((event) => ({ by: 'fate', event }))]
}

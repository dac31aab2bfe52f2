import type { HistoryEvent } from '../../../src/testing.ts'

export interface Running {
  /** Microseconds. */
  readonly at: number
  /** Handlers that ran from then on, and leases of those whose process failed. */
  readonly count: number
}

/** How many attempts of a key had a place, at each moment at which that changed. @param lease of a process that fails; microseconds */
export function runningOver(history: readonly HistoryEvent[], key: string, lease: number): Running[] {
  const changes: { at: number; by: number }[] = []
  const running = new Set<string>()
  for (const event of history) {
    if (event.type === 'start' && event.key === key && !running.has(event.id)) {
      running.add(event.id)
      changes.push({ at: event.at, by: 1 })
    }
    if (event.type !== 'return' && event.type !== 'end' && event.type !== 'fault') continue
    if (!running.delete(event.id)) continue
    changes.push({ at: event.type === 'fault' ? event.at + lease : event.at, by: -1 })
  }
  let count = 0
  return changes
    .sort((a, b) => a.at - b.at)
    .map(({ at, by }) => {
      count += by
      return { at, count }
    })
}

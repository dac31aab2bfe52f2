import type { HistoryEvent } from '../../../src/testing.ts'
import { readRecords } from './history-file.ts'

/** When the callers of turns went on in their own code, by the ids of their turns; microseconds of the host's clock. */
export function resumedIn(paths: readonly string[]): Map<string, number> {
  const records = paths.flatMap(readRecords)
  return new Map(records.flatMap((record) => (record.kind === 'resumed' ? [[record.id, record.at]] : [])))
}

/** From each departure of a turn until its caller went on; microseconds. */
export function waysIntoTheCode(
  history: readonly HistoryEvent[],
  resumed: ReadonlyMap<string, number>,
): number[] {
  return history.flatMap((event) => {
    const wentOnAt = event.type === 'start' ? resumed.get(event.id) : undefined
    return wentOnAt === undefined ? [] : [wentOnAt - event.at]
  })
}

/** The share of the values that are above. */
export function shareAbove(limit: number, values: readonly number[]): number {
  return values.filter((value) => value > limit).length / values.length
}

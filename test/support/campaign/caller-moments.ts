import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import { readRecords } from './history-file.ts'

/** When the callers of turns went on in their own code, by the ids of their turns; microseconds of the host's clock. */
export function resumedIn(paths: readonly string[]): Map<string, number> {
  const records = paths.flatMap(readRecords)
  return new Map(records.flatMap((record) => (record.kind === 'resumed' ? [[record.id, record.at]] : [])))
}

/**
 * Holds the moments at which callers went on against the spacing (L2), as if each were the start: with the tolerance
 * of the limit, and `allowance` microseconds for the way from the line's decision into the code of the caller.
 */
export function spacingOfCallers(
  history: readonly HistoryEvent[],
  resumed: ReadonlyMap<string, number>,
  allowance: number,
): Breach[] {
  const seen = history.map((event): HistoryEvent => {
    if (event.type === 'start') return { ...event, at: resumed.get(event.id) ?? event.at }
    if (event.type !== 'limit') return event
    return { ...event, limit: { ...event.limit, tolerance: event.limit.tolerance + allowance } }
  })
  return checkHistory(seen.sort((a, b) => a.at - b.at)).filter(({ law }) => law === 'L2')
}

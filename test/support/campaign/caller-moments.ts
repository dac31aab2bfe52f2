import { type Breach, checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import { readRecords } from './history-file.ts'

/** How the caller of a turn went on in its own code. */
export interface Resumed {
  /** Microseconds of the host's clock. */
  readonly at: number
  /** In the very turn of the event loop in which it departed. */
  readonly isSameTurn: boolean
}

/** How the callers of turns went on, by the ids of their turns. */
export function resumedIn(paths: readonly string[]): Map<string, Resumed> {
  const records = paths.flatMap(readRecords)
  return new Map(records.flatMap((record) => (record.kind === 'resumed' ? [[record.id, record]] : [])))
}

/** From each departure of a turn until its caller went on; microseconds. */
export function waysIntoTheCode(
  history: readonly HistoryEvent[],
  resumed: ReadonlyMap<string, Resumed>,
): number[] {
  return history.flatMap((event) => {
    const wentOn = event.type === 'start' ? resumed.get(event.id) : undefined
    return wentOn === undefined ? [] : [wentOn.at - event.at]
  })
}

/** Holds the moments at which callers went on against the spacing (L2), as if each were the start. */
export function spacingOfCallers(
  history: readonly HistoryEvent[],
  resumed: ReadonlyMap<string, Resumed>,
): Breach[] {
  const seen = history.map((event) =>
    event.type === 'start' ? { ...event, at: resumed.get(event.id)?.at ?? event.at } : event,
  )
  return checkHistory(seen.sort((a, b) => a.at - b.at)).filter(({ law }) => law === 'L2')
}

import type { Arrival } from './arrival.ts'
import { ArrivalChecker } from './arrival-checker.ts'
import { costsIn } from './costs-in.ts'
import { readRows } from './read-rows.ts'
import type { UnreadNames } from './unread-names.ts'

/**
 * Reads arrivals as a stream, a batch per chunk of input: CSV with the columns `offset_s`, `key` and, if costs differ, `cost`, or
 * JSON lines, `{"offset_s": 0.5, "key": "a", "cost": 2}`. What a job counts in `units` stands in a column, or property, `costs`, or
 * in one of the unit's name, empty where the job does not say; others are ignored, and `unread` takes note of them.
 *
 * @param file the name of the input in messages
 * @throws InvalidInputError with file, line and column for anything else, and if `offset_s` decreases
 */
export async function* readArrivals(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  units: readonly string[] = [],
  unread?: UnreadNames,
): AsyncGenerator<readonly Arrival[]> {
  const checker = new ArrivalChecker()
  const format = { what: 'arrivals', begin: () => ['offset_s', 'key'] }
  for await (const rows of readRows(file, chunks, format)) {
    yield rows.map((row) => {
      unread?.see(row.names)
      const values = {
        offset_s: row.number('offset_s'),
        key: row.value('key'),
        cost: row.number('cost', 1),
        costs: costsIn(row, units, unread),
      }
      return checker.check(values, (field, message) => row.blame(field, message))
    })
  }
}

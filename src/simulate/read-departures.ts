import { describe, quote } from '../core/describe.ts'
import { SECOND } from '../core/duration.ts'
import { InvalidInputError } from '../core/errors.ts'
import { ArrivalChecker } from './arrival-checker.ts'
import { CsvColumns } from './csv-columns.ts'
import { type CsvRecord, CsvRecords } from './csv-records.ts'
import { decodeText } from './decode-text.ts'

/** One row of a departures file; times in microseconds. */
export interface DepartureRow {
  readonly line: number
  readonly key: string
  readonly cost: number
  /** Its arrival; undefined in a file with only departures. */
  readonly at: number | undefined
  /** Its departure; undefined if it was rejected. */
  readonly departsAt: number | undefined
  /** The time after which it could retry, if any. */
  readonly retryAt: number | undefined
}

/**
 * Reads the output of `simulate --out`, or a file with only the columns `key` and `departs_s`.
 *
 * @throws InvalidInputError with file, line and column
 */
export async function readDepartures(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<DepartureRow[]> {
  const records = new CsvRecords(file)
  const rows: DepartureRow[] = []
  let reader: RowReader | undefined
  const take = (record: CsvRecord): void => {
    if (reader === undefined) reader = new RowReader(file, record)
    else rows.push(reader.read(record))
  }
  for await (const text of decodeText(file, chunks)) {
    for (const record of records.push(text)) take(record)
  }
  for (const record of records.end()) take(record)
  if (reader === undefined) {
    throw new InvalidInputError({ file, line: 1, column: 1 }, 'expected departures as CSV, got nothing')
  }
  return rows
}

/** Microseconds: each of three columns is rounded to one. */
const ROUNDING = 2

class RowReader {
  readonly #columns: CsvColumns
  readonly #isFull: boolean
  readonly #checker = new ArrivalChecker()

  constructor(file: string, header: CsvRecord) {
    this.#isFull = header.fields.includes('verdict') || header.fields.includes('offset_s')
    const required = this.#isFull
      ? ['offset_s', 'key', 'verdict', 'departs_s', 'retry_after_s']
      : ['key', 'departs_s']
    this.#columns = new CsvColumns(file, header, required)
  }

  read(record: CsvRecord): DepartureRow {
    const columns = this.#columns
    const { at, key, cost } = this.#checker.check(
      {
        // Without arrivals there is no order to keep.
        offset_s: this.#isFull ? columns.number(record, 'offset_s') : 0,
        key: columns.text(record, 'key'),
        cost: columns.has('cost') ? columns.number(record, 'cost') : 1,
      },
      (field, message) => columns.blame(record, field, message),
    )
    const { line } = record.positionOf(0)
    if (!this.#isFull || this.#isAccepted(record)) {
      const departsAt = Math.round(this.#seconds(record, 'departs_s') * SECOND)
      // A departure before the arrival breaks a law, which says more than the wait.
      if (columns.has('wait_s') && departsAt >= at) this.#checkWait(record, departsAt - at)
      return { line, key, cost, at: this.#isFull ? Math.round(at) : undefined, departsAt, retryAt: undefined }
    }
    const wasTold = columns.text(record, 'retry_after_s') !== ''
    const retryAt = wasTold ? at + this.#seconds(record, 'retry_after_s') * SECOND : undefined
    return { line, key, cost, at: Math.round(at), departsAt: undefined, retryAt }
  }

  #checkWait(record: CsvRecord, wait: number): void {
    const given = this.#seconds(record, 'wait_s') * SECOND
    if (Math.abs(given - wait) <= ROUNDING) return
    const message = `expected wait_s to be departs_s minus offset_s, ${wait / SECOND}, got: ${given / SECOND}`
    throw this.#columns.blame(record, 'wait_s', message)
  }

  #isAccepted(record: CsvRecord): boolean {
    const verdict = this.#columns.text(record, 'verdict')
    if (verdict !== 'accepted' && verdict !== 'rejected') {
      const message = `expected the verdict to be accepted or rejected, got: ${quote(verdict)}`
      throw this.#columns.blame(record, 'verdict', message)
    }
    return verdict === 'accepted'
  }

  #seconds(record: CsvRecord, name: string): number {
    const value = this.#columns.number(record, name)
    if (typeof value === 'number' && value >= 0) return value
    const message = `expected ${name} to be a number of seconds, got: ${describe(value)}`
    throw this.#columns.blame(record, name, message)
  }
}

import { describe, quote } from '../core/describe.ts'
import { SECOND } from '../core/duration.ts'
import type { Costs } from '../core/usage.ts'
import { ArrivalChecker, checkCount } from './arrival-checker.ts'
import { costsIn } from './costs-in.ts'
import { type Row, readRows } from './read-rows.ts'

/** One row of a departures file; times in microseconds. */
export interface DepartureRow {
  readonly line: number
  readonly key: string
  readonly cost: number
  /** What it counts in quotas of other units, where it says so. */
  readonly costs?: Costs
  /** Its arrival; undefined in a file with only departures. */
  readonly at: number | undefined
  /** Its departure; undefined if it was rejected. */
  readonly departsAt: number | undefined
  /** The time after which it could retry, if any. */
  readonly retryAt: number | undefined
  /** When its attempt ended; undefined where it had not, or the file does not say. */
  readonly endsAt?: number | undefined
  /** What it really counted, and when that was said. */
  readonly settled?: { readonly at: number; readonly amounts: Costs } | undefined
}

/**
 * Reads the output of `simulate --out`, or a file with only `key` and `departs_s`; CSV, or JSON lines with the same names. Further
 * columns: what a job counts in one of `units`, by its name; what it really counted, `tokens_settled`, with the time, `settled_s`;
 * and when its attempt ended, `ends_s`. All may be empty.
 *
 * @throws InvalidInputError with file, line and column
 */
export async function readDepartures(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  units: readonly string[] = [],
): Promise<DepartureRow[]> {
  const reader = new RowReader(units)
  const rows: DepartureRow[] = []
  for await (const batch of readRows(file, chunks, reader)) {
    for (const row of batch) rows.push(reader.read(row))
  }
  return rows
}

/** Microseconds: each of three columns is rounded to one. */
const ROUNDING = 2
const SETTLED_AT = 'settled_s'

/** The column that says what a job really counted in the unit. */
function settledIn(unit: string): string {
  return `${unit}_settled`
}

class RowReader {
  readonly what = 'departures'
  readonly #units: readonly string[]
  readonly #checker = new ArrivalChecker()
  #isFull = false

  constructor(units: readonly string[]) {
    this.#units = units
  }

  begin(names: readonly string[]): readonly string[] {
    this.#isFull = names.includes('verdict') || names.includes('offset_s')
    const required = this.#isFull
      ? ['offset_s', 'key', 'verdict', 'departs_s', 'retry_after_s']
      : ['key', 'departs_s']
    return this.#units.some((unit) => names.includes(settledIn(unit))) ? [...required, SETTLED_AT] : required
  }

  read(row: Row): DepartureRow {
    const values = {
      // Without arrivals there is no order to keep.
      offset_s: this.#isFull ? row.number('offset_s') : 0,
      key: row.value('key'),
      cost: row.number('cost', 1),
      costs: costsIn(row, this.#units),
    }
    const { at, ...counted } = this.#checker.check(values, (field, message) => row.blame(field, message))
    const { line } = row
    if (this.#isFull && !isAccepted(row)) {
      const retryAt = row.has('retry_after_s') ? at + seconds(row, 'retry_after_s') * SECOND : undefined
      return { line, ...counted, at: Math.round(at), departsAt: undefined, retryAt }
    }
    const departsAt = Math.round(seconds(row, 'departs_s') * SECOND)
    // A departure before the arrival breaks a law, which says more than the wait.
    if (row.has('wait_s') && this.#isFull && departsAt >= at) checkWait(row, departsAt - at)
    return {
      line,
      ...counted,
      at: this.#isFull ? Math.round(at) : undefined,
      departsAt,
      retryAt: undefined,
      endsAt: row.has('ends_s') ? since(departsAt, row, 'ends_s') : undefined,
      settled: this.#settled(row, departsAt),
    }
  }

  #settled(row: Row, departsAt: number): DepartureRow['settled'] {
    const named = this.#units.filter((unit) => row.has(settledIn(unit)))
    const [first] = named
    if (first === undefined) {
      if (!row.has(SETTLED_AT) || this.#units.length === 0) return undefined
      const columns = this.#units.map(settledIn).join(' or ')
      throw row.blame(SETTLED_AT, `expected ${columns} beside ${SETTLED_AT}, got: none`)
    }
    if (!row.has(SETTLED_AT)) {
      throw row.blame(settledIn(first), `expected ${SETTLED_AT} beside ${settledIn(first)}, got: none`)
    }
    const amounts = named.map((unit): [string, number] => {
      const amount = row.number(settledIn(unit))
      checkCount(settledIn(unit), amount, 0, (field, message) => row.blame(field, message))
      return [unit, amount]
    })
    return { at: since(departsAt, row, SETTLED_AT), amounts: Object.fromEntries(amounts) }
  }
}

function checkWait(row: Row, wait: number): void {
  const given = seconds(row, 'wait_s') * SECOND
  if (Math.abs(given - wait) <= ROUNDING) return
  const message = `expected wait_s to be departs_s minus offset_s, ${wait / SECOND}, got: ${given / SECOND}`
  throw row.blame('wait_s', message)
}

/** A time that is not before the departure. */
function since(departsAt: number, row: Row, name: string): number {
  const at = Math.round(seconds(row, name) * SECOND)
  if (at >= departsAt) return at
  throw row.blame(
    name,
    `expected ${name} to be departs_s, ${departsAt / SECOND}, or later, got: ${at / SECOND}`,
  )
}

function isAccepted(row: Row): boolean {
  const verdict = row.value('verdict')
  if (verdict === 'accepted' || verdict === 'rejected') return verdict === 'accepted'
  const got = typeof verdict === 'string' ? quote(verdict) : describe(verdict)
  throw row.blame('verdict', `expected the verdict to be accepted or rejected, got: ${got}`)
}

function seconds(row: Row, name: string): number {
  const value = row.number(name)
  if (typeof value === 'number' && value >= 0) return value
  throw row.blame(name, `expected ${name} to be a number of seconds, got: ${describe(value)}`)
}

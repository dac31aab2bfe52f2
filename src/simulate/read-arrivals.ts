import { describe, quote } from '../core/describe.ts'
import { InvalidInputError } from '../core/errors.ts'
import type { Arrival } from './arrival.ts'
import { ArrivalChecker } from './arrival-checker.ts'
import { CsvColumns } from './csv-columns.ts'
import { type CsvRecord, CsvRecords } from './csv-records.ts'
import { decodeText } from './decode-text.ts'

/** A longer line is not an arrival. */
const LONGEST_LINE = 1_048_576

/**
 * Reads arrivals as a stream, a batch per chunk of input. The first character decides between two formats:
 *
 * - CSV (RFC 4180) with a header that names the columns `offset_s`, `key` and, if costs differ, `cost`, in any order;
 *   further columns are ignored, but for those of `units`: what the job counts in that unit, empty where it does not say.
 * - JSON lines, `{"offset_s": 0.5, "key": "a", "cost": 2}`; `cost` may be absent, further properties are ignored, but for those of
 *   `units`.
 *
 * @param file the name of the input in messages
 * @throws InvalidInputError with file, line and column for anything else, and if `offset_s` decreases
 */
export async function* readArrivals(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  units: readonly string[] = [],
): AsyncGenerator<readonly Arrival[]> {
  let parser: ArrivalParser | undefined
  let waiting = ''
  for await (const text of decodeText(file, chunks)) {
    waiting += text
    const [first] = waiting.trimStart()
    if (first === undefined) continue
    parser ??= first === '{' ? new JsonLinesArrivals(file, units) : new CsvArrivals(file, units)
    yield [...parser.push(waiting)]
    waiting = ''
  }
  if (parser === undefined) {
    throw new InvalidInputError(
      { file, line: 1, column: 1 },
      'expected arrivals as CSV or JSON lines, got nothing',
    )
  }
  yield [...parser.end()]
}

interface ArrivalParser {
  push(text: string): Iterable<Arrival>
  end(): Iterable<Arrival>
}

class CsvArrivals implements ArrivalParser {
  readonly #file: string
  readonly #records: CsvRecords
  readonly #checker = new ArrivalChecker()
  readonly #units: readonly string[]
  #columns: CsvColumns | undefined

  constructor(file: string, units: readonly string[]) {
    this.#file = file
    this.#units = units
    this.#records = new CsvRecords(file)
  }

  push(text: string): Generator<Arrival> {
    return this.#arrivals(this.#records.push(text))
  }

  end(): Generator<Arrival> {
    return this.#arrivals(this.#records.end())
  }

  *#arrivals(records: Iterable<CsvRecord>): Generator<Arrival> {
    for (const record of records) {
      const columns = this.#columns
      if (columns === undefined) this.#columns = new CsvColumns(this.#file, record, ['offset_s', 'key'])
      else yield this.#arrival(record, columns)
    }
  }

  #arrival(record: CsvRecord, columns: CsvColumns): Arrival {
    const values = {
      offset_s: columns.number(record, 'offset_s'),
      key: columns.text(record, 'key'),
      cost: columns.has('cost') ? columns.number(record, 'cost') : 1,
      costs: namedCosts(record, columns, this.#units),
    }
    return this.#checker.check(values, (field, message) => columns.blame(record, field, message))
  }
}

/** What a record counts in each unit that has a column. */
function namedCosts(record: CsvRecord, columns: CsvColumns, units: readonly string[]) {
  const known = units.filter((unit) => columns.has(unit))
  return Object.fromEntries(
    known.map((unit) => [unit, columns.text(record, unit) === '' ? undefined : columns.number(record, unit)]),
  )
}

class JsonLinesArrivals implements ArrivalParser {
  readonly #file: string
  readonly #checker = new ArrivalChecker()
  #rest = ''
  readonly #units: readonly string[]
  #line = 0

  constructor(file: string, units: readonly string[]) {
    this.#file = file
    this.#units = units
  }

  *push(text: string): Generator<Arrival> {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) yield* this.#arrivals(line)
    if (this.#rest.length > LONGEST_LINE)
      throw this.#error(1, `a line of more than ${LONGEST_LINE} characters`)
  }

  *end(): Generator<Arrival> {
    yield* this.#arrivals(this.#rest)
  }

  *#arrivals(text: string): Generator<Arrival> {
    this.#line++
    if (text.trim() === '') return
    const record = this.#parse(text)
    const values = {
      offset_s: record['offset_s'],
      key: record['key'],
      cost: record['cost'] ?? 1,
      costs: Object.fromEntries(this.#units.map((unit) => [unit, record[unit] ?? undefined])),
    }
    yield this.#checker.check(values, (field, message) => {
      return this.#error(Math.max(0, text.indexOf(`"${field}"`)) + 1, message)
    })
  }

  #parse(text: string): Partial<Record<string, unknown>> {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      const position = /at position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1]
      const column = position === undefined ? text.length : Number(position)
      throw this.#error(column + 1, `expected a JSON object, got: ${quote(text)}`)
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw this.#error(1, `expected a JSON object, got: ${describe(value)}`)
    }
    return { ...value }
  }

  #error(column: number, message: string): InvalidInputError {
    return new InvalidInputError({ file: this.#file, line: this.#line, column }, message)
  }
}

import { describe, quote } from '../core/describe.ts'
import { InvalidInputError } from '../core/errors.ts'
import { CsvColumns } from './csv-columns.ts'
import { type CsvRecord, CsvRecords } from './csv-records.ts'
import { decodeText } from './decode-text.ts'

/** A longer line is not a row. */
const LONGEST_LINE = 1_048_576

/** One row of a file, by the names of its columns or properties. */
export interface Row {
  readonly line: number
  /** Its columns, one list for all rows of a file; or its own properties. */
  readonly names: readonly string[]
  /** Whether the row says something: not where there is no such column or property, and not where it is empty or null. */
  has(name: string): boolean
  /** The value as it stands; a column that is not there is an error. */
  value(name: string): unknown
  /** The same, with numbers in text as numbers. `otherwise`: where there is no such column, or property. */
  number(name: string, otherwise?: number): unknown
  /** Creates the error for one of its fields. */
  blame(name: string, message: string): InvalidInputError
}

export interface RowFormat {
  /** What the file holds, in messages. */
  readonly what: string
  /**
   * Called once, with the names of the header or of the first object. Returns those that a header must have; objects may differ, so
   * that each is checked by itself.
   */
  begin(names: readonly string[]): readonly string[]
}

/**
 * Reads rows as a stream, a batch per chunk of input. The first character decides between two formats: CSV (RFC 4180) with a header
 * that names its columns, in any order, and JSON lines, an object each.
 *
 * @param file the name of the input in messages
 * @throws InvalidInputError with file, line and column for anything else
 */
export async function* readRows(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  format: RowFormat,
): AsyncGenerator<readonly Row[]> {
  let parser: RowParser | undefined
  let waiting = ''
  for await (const text of decodeText(file, chunks)) {
    waiting += text
    const [first] = waiting.trimStart()
    if (first === undefined) continue
    parser ??= first === '{' ? new JsonLines(file, format) : new CsvRows(file, format)
    yield [...parser.push(waiting)]
    waiting = ''
  }
  if (parser === undefined) {
    const message = `expected ${format.what} as CSV or JSON lines, got nothing`
    throw new InvalidInputError({ file, line: 1, column: 1 }, message)
  }
  yield [...parser.end()]
}

interface RowParser {
  push(text: string): Iterable<Row>
  end(): Iterable<Row>
}

class CsvRows implements RowParser {
  readonly #file: string
  readonly #format: RowFormat
  readonly #records: CsvRecords
  #columns: CsvColumns | undefined

  constructor(file: string, format: RowFormat) {
    this.#file = file
    this.#format = format
    this.#records = new CsvRecords(file)
  }

  push(text: string): Generator<Row> {
    return this.#rows(this.#records.push(text))
  }

  end(): Generator<Row> {
    return this.#rows(this.#records.end())
  }

  *#rows(records: Iterable<CsvRecord>): Generator<Row> {
    for (const record of records) {
      const columns = this.#columns
      columns?.assertNoneLeft(record)
      if (columns !== undefined) yield new CsvRow(columns, record)
      else this.#columns = new CsvColumns(this.#file, record, this.#format.begin(record.fields))
    }
  }
}

class CsvRow implements Row {
  readonly #columns: CsvColumns
  readonly #record: CsvRecord

  constructor(columns: CsvColumns, record: CsvRecord) {
    this.#columns = columns
    this.#record = record
  }

  get line(): number {
    return this.#record.positionOf(0).line
  }

  get names(): readonly string[] {
    return this.#columns.names
  }

  has(name: string): boolean {
    return this.#columns.has(name) && this.#columns.text(this.#record, name) !== ''
  }

  value(name: string): string {
    return this.#columns.text(this.#record, name)
  }

  number(name: string, otherwise?: number): number | string {
    if (otherwise !== undefined && !this.#columns.has(name)) return otherwise
    return this.#columns.number(this.#record, name)
  }

  blame(name: string, message: string): InvalidInputError {
    return this.#columns.blame(this.#record, name, message)
  }
}

class JsonLines implements RowParser {
  readonly #file: string
  readonly #format: RowFormat
  #hasBegun = false
  #rest = ''
  #line = 0

  constructor(file: string, format: RowFormat) {
    this.#file = file
    this.#format = format
  }

  *push(text: string): Generator<Row> {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) yield* this.#rows(line)
    if (this.#rest.length > LONGEST_LINE)
      throw this.#error(1, `a line of more than ${LONGEST_LINE} characters`)
  }

  *end(): Generator<Row> {
    yield* this.#rows(this.#rest)
  }

  *#rows(text: string): Generator<Row> {
    this.#line++
    if (text.trim() === '') return
    const fields = this.#parse(text)
    if (!this.#hasBegun) this.#format.begin(Object.keys(fields))
    this.#hasBegun = true
    yield new JsonRow(fields, text, { file: this.#file, line: this.#line })
  }

  #parse(text: string): Fields {
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

type Fields = Partial<Record<string, unknown>>

class JsonRow implements Row {
  readonly #fields: Fields
  readonly #text: string
  readonly #at: { readonly file: string; readonly line: number }

  constructor(fields: Fields, text: string, at: { readonly file: string; readonly line: number }) {
    this.#fields = fields
    this.#text = text
    this.#at = at
  }

  get line(): number {
    return this.#at.line
  }

  get names(): readonly string[] {
    return Object.keys(this.#fields)
  }

  has(name: string): boolean {
    return (this.#fields[name] ?? '') !== ''
  }

  value(name: string): unknown {
    return this.#fields[name]
  }

  number(name: string, otherwise?: number): unknown {
    return this.#fields[name] ?? otherwise
  }

  blame(name: string, message: string): InvalidInputError {
    const column = Math.max(0, this.#text.indexOf(`"${name}"`)) + 1
    return new InvalidInputError({ ...this.#at, column }, message)
  }
}

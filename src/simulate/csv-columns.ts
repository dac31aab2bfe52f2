import { quote } from '../core/describe.ts'
import { InvalidInputError } from '../core/errors.ts'
import type { CsvRecord, Position } from './csv-records.ts'

/** Maps fields to columns by the header. */
export class CsvColumns {
  /** In the order of the header. */
  readonly names: readonly string[]
  readonly #file: string
  readonly #index: ReadonlyMap<string, number>

  /** @throws InvalidInputError when a required column is missing or one is named twice */
  constructor(file: string, header: CsvRecord, required: readonly string[]) {
    this.names = header.fields
    this.#file = file
    const index = new Map<string, number>()
    header.fields.forEach((name, column) => {
      if (index.has(name))
        throw this.#error(header.positionOf(column), `the column ${quote(name)} comes twice`)
      index.set(name, column)
    })
    this.#index = index
    const missing = required.find((name) => !index.has(name))
    if (missing !== undefined) {
      const got = header.fields.map((name) => quote(name)).join(', ')
      throw this.#error(header.positionOf(0), `expected a header with the column ${missing}, got: ${got}`)
    }
  }

  has(name: string): boolean {
    return this.#index.has(name)
  }

  /** @throws InvalidInputError when the record has more fields than the header: no column says what they mean */
  assertNoneLeft(record: CsvRecord): void {
    const { fields } = record
    const expected = this.names.length
    if (fields.length <= expected) return
    const cut = fields.findIndex((field, column) => isCutNumber(field, fields[column + 1]))
    const hint =
      cut === -1
        ? 'quote a text that has a comma inside'
        : `write a number without a comma inside: ${fields[cut]}${fields[cut + 1]}, not ${fields[cut]},${fields[cut + 1]}`
    throw this.#error(
      record.positionOf(cut === -1 ? expected : cut),
      `expected ${expected} fields, as in the header, got: ${fields.length}; ${hint}`,
    )
  }

  /** @throws InvalidInputError when the record ends before the column */
  text(record: CsvRecord, name: string): string {
    const column = this.#index.get(name)
    const text = column === undefined ? undefined : record.fields[column]
    if (text === undefined)
      throw this.blame(record, name, `expected a value for ${name}, got the end of the line`)
    return text
  }

  /** The number in a field; its text if it is not a number. */
  number(record: CsvRecord, name: string): number | string {
    const text = this.text(record, name)
    return NUMBER.test(text) ? Number(text) : text
  }

  /** Creates the error for one field of a record. */
  blame(record: CsvRecord, name: string, message: string): InvalidInputError {
    return this.#error(record.positionOf(this.#index.get(name) ?? 0), message)
  }

  #error(position: Position, message: string): InvalidInputError {
    return new InvalidInputError({ file: this.#file, ...position }, message)
  }
}

/** Whether two fields look like a number that a separator of thousands cut in two. */
function isCutNumber(field: string, next = ''): boolean {
  return /^-?[1-9]\d{0,2}$/.test(field) && /^\d{3}(?:\.\d+)?$/.test(next)
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

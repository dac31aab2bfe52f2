import { quote } from '../core/describe.ts'
import { InvalidInputError } from '../core/errors.ts'

/** A longer record is an unclosed quote rather than data. */
const LONGEST_RECORD = 1_048_576

export interface Position {
  readonly line: number
  readonly column: number
}

/** A record of a CSV file with the positions of its fields. */
export interface CsvRecord {
  readonly fields: readonly string[]
  /** Position of a field; one past the last is the end of the record. Lines and columns count from 1. */
  positionOf(field: number): Position
}

/**
 * Splits CSV text (RFC 4180: quoted fields, doubled quotes, LF or CR LF) into records as it arrives in pieces. Blank
 * lines are skipped.
 */
export class CsvRecords {
  readonly #file: string
  #rest = ''
  #line = 1

  constructor(file: string) {
    this.#file = file
  }

  /** @throws InvalidInputError for a quote in the wrong place or one that is never closed */
  *push(text: string): Generator<CsvRecord> {
    this.#rest += text
    yield* this.#cut(false)
    if (this.#rest.length > LONGEST_RECORD) {
      throw this.#error(
        this.#line,
        1,
        `a record of more than ${LONGEST_RECORD} characters: a quote not closed?`,
      )
    }
  }

  /** Ends the text: a last record may lack its line end. */
  *end(): Generator<CsvRecord> {
    yield* this.#cut(true)
  }

  *#cut(complete: boolean): Generator<CsvRecord> {
    const text = this.#rest
    let from = 0
    while (from < text.length) {
      const cut = this.#record(text, from, complete)
      if (cut === undefined) break
      const { fields, starts, next } = cut
      const raw = text.slice(from, next)
      if (fields.length > 1 || fields[0] !== '') yield new Located(fields, starts, raw, this.#line)
      this.#line += countLines(raw)
      from = next
    }
    this.#rest = text.slice(from)
  }

  /** The record that starts at `from`; undefined if its end has not arrived yet. */
  #record(text: string, from: number, complete: boolean): Cut | undefined {
    const fields: string[] = []
    const starts: number[] = []
    let at = from
    for (;;) {
      starts.push(at - from)
      const quoted = text[at] === '"'
      const end = quoted ? this.#closing(text, from, at, complete) : plainEnd(text, at)
      if (end === undefined || (end === text.length && !complete)) return undefined
      const content = text.slice(at, end)
      if (quoted) {
        fields.push(content.slice(1, -1).replaceAll('""', '"'))
      } else {
        const stray = content.indexOf('"')
        if (stray >= 0) {
          throw this.#error(
            this.#line,
            at - from + stray + 1,
            `a quote inside ${quote(content)}: quote all of it`,
          )
        }
        fields.push(content.endsWith('\r') ? content.slice(0, -1) : content)
      }
      const stop = text[end] === '\r' ? end + 1 : end
      if (stop >= text.length) return { fields, starts, next: text.length }
      if (text[stop] === '\n') return { fields, starts, next: stop + 1 }
      at = stop + 1
    }
  }

  /** The end of a quoted field, after its closing quote. */
  #closing(text: string, from: number, opening: number, complete: boolean): number | undefined {
    let at = text.indexOf('"', opening + 1)
    while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
    if (at < 0 && !complete) return undefined
    const where = locate(text.slice(from, opening), this.#line)
    if (at < 0) throw this.#error(where.line, where.column, 'a quote that is never closed')
    const after = text.slice(at + 1, at + 3)
    if (!/^(?:$|,|\n|\r$|\r\n)/.test(after)) {
      const found = locate(text.slice(from, at + 1), this.#line)
      throw this.#error(
        found.line,
        found.column,
        `expected a comma after the closing quote, got: ${quote(after)}`,
      )
    }
    return at + 1
  }

  #error(line: number, column: number, message: string): InvalidInputError {
    return new InvalidInputError({ file: this.#file, line, column }, message)
  }
}

interface Cut {
  readonly fields: readonly string[]
  readonly starts: readonly number[]
  readonly next: number
}

class Located implements CsvRecord {
  readonly fields: readonly string[]
  readonly #starts: readonly number[]
  readonly #raw: string
  readonly #line: number

  constructor(fields: readonly string[], starts: readonly number[], raw: string, line: number) {
    this.fields = fields
    this.#starts = starts
    this.#raw = raw
    this.#line = line
  }

  positionOf(field: number): Position {
    const end = this.#raw.replace(/\r?\n$/, '').length
    return locate(this.#raw.slice(0, this.#starts[field] ?? end), this.#line)
  }
}

/** The position after `before`, if `before` starts on `line`. */
function locate(before: string, line: number): Position {
  return { line: line + countLines(before), column: before.length - (before.lastIndexOf('\n') + 1) + 1 }
}

function countLines(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

function plainEnd(text: string, at: number): number {
  let end = at
  while (end < text.length && text[end] !== ',' && text[end] !== '\n') end++
  return end
}

/** A field of a CSV record (RFC 4180). */
export function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

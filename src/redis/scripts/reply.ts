import { describe } from '../../core/describe.ts'
import { ForeignValueError } from '../../core/errors.ts'

/**
 * Reads replies of scripts into objects with names. A script answers with lists; the shape beside its call names the values
 * in their order:
 *
 *     const reply = list(oneOf({ ok: { at: number, jobs: rest(row({ id: text, epoch: number })) }, none: {} }))
 *     // ['ok', 5, 'a', 1, 'b', 2] -> { kind: 'ok', at: 5, jobs: [{ id: 'a', epoch: 1 }, { id: 'b', epoch: 2 }] }
 *
 * This is not a zod schema because a reply of `gate` or `admit` has up to a thousand values, and zod takes several times as
 * long.
 */
export type Read<Value> = (values: Values) => Value

/** What a shape reads: `Answer<typeof reply>`. */
export type Answer<Reader> = Reader extends Read<infer Value> ? Value : never

type Shape = Readonly<Record<string, Read<unknown>>>
type Row<Fields extends Shape> = { readonly [Name in keyof Fields]: Answer<Fields[Name]> }
type OneOf<Kinds extends Readonly<Record<string, Shape>>> = {
  [Kind in keyof Kinds]: { readonly kind: Kind } & Row<Kinds[Kind]>
}[keyof Kinds]

/** One list of a reply, and how far it was read. */
interface Values {
  readonly list: readonly unknown[]
  next: number
}

/** @throws ForeignValueError when the reply has another shape, for example that of another version */
export function readReply<Value>(read: Read<Value>, reply: unknown): Value {
  return read({ list: [reply], next: 0 })
}

/** Redis truncates numbers to integers, so fractions arrive as text of 17 digits. */
export function number(values: Values): number {
  const value = values.list[values.next++]
  if (typeof value === 'number') return value
  if (value === 'inf') return Number.POSITIVE_INFINITY
  if (value === '-inf') return Number.NEGATIVE_INFINITY
  const parsed = typeof value === 'string' && value !== '' ? Number(value) : Number.NaN
  if (Number.isNaN(parsed)) throw unexpected('a number', value)
  return parsed
}

/** A number, which may stand in a text with more behind a space. */
export function numberAndMore(values: Values): { readonly value: number; readonly more?: string } {
  const whole = values.list[values.next]
  const space = typeof whole === 'string' ? whole.indexOf(' ') : -1
  if (space === -1) return { value: number(values) }
  values.next++
  const [first, more] = [(whole as string).slice(0, space), (whole as string).slice(space + 1)]
  return { value: number({ list: [first], next: 0 }), more }
}

export function text(values: Values): string {
  const value = values.list[values.next++]
  if (typeof value !== 'string') throw unexpected('text', value)
  return value
}

export function flag(values: Values): boolean {
  const value = values.list[values.next++]
  if (value === '1' || value === 1) return true
  if (value === '0' || value === 0) return false
  throw unexpected("'1' or '0'", value)
}

/** One of these texts. */
export function word<const Word extends string>(...words: readonly Word[]): Read<Word> {
  return (values) => {
    const value = values.list[values.next++]
    const known = words.find((one) => one === value)
    if (known === undefined) throw unexpected(words.join(', '), value)
    return known
  }
}

/** Values that follow each other, by name. */
export function row<const Fields extends Shape>(fields: Fields): Read<Row<Fields>> {
  return fieldsReader(fields)
}

/** A word, and what follows it: which fields depends on the word, which becomes `kind`. */
export function oneOf<const Kinds extends Readonly<Record<string, Shape>>>(kinds: Kinds): Read<OneOf<Kinds>> {
  const readers = new Map<unknown, Read<unknown>>()
  for (const [kind, fields] of Object.entries(kinds)) readers.set(kind, fieldsReader(fields, kind))
  return (values) => {
    const kind = values.list[values.next++]
    const read = readers.get(kind)
    if (read === undefined) throw unexpected([...readers.keys()].join(', '), kind)
    return read(values) as OneOf<Kinds>
  }
}

/** A list of its own within the reply; it holds what `read` reads, and nothing else. */
export function list<Value>(read: Read<Value>): Read<Value> {
  return (values) => {
    const inner = values.list[values.next++]
    if (!Array.isArray(inner)) throw unexpected('a list', inner)
    const within = { list: inner, next: 0 }
    const value = read(within)
    if (within.next !== inner.length) {
      throw unexpected(`a list of ${within.next}`, inner)
    }
    return value
  }
}

/** The rest of the list, each item read in the same way. */
export function rest<Value>(read: Read<Value>): Read<Value[]> {
  return (values) => {
    const found: Value[] = []
    while (values.next < values.list.length) found.push(read(values))
    return found
  }
}

/** Undefined where the list ends before it. */
export function optional<Value>(read: Read<Value>): Read<Value | undefined> {
  return (values) => (values.next < values.list.length ? read(values) : undefined)
}

function fieldsReader<Fields extends Shape>(fields: Fields, kind?: string): Read<Row<Fields>> {
  const names = Object.keys(fields)
  const reads = Object.values(fields)
  return (values) => {
    // A spread would make each of these objects slow to fill.
    const found: Record<string, unknown> = kind === undefined ? {} : { kind }
    for (let index = 0; index < reads.length; index++) found[names[index]!] = reads[index]!(values)
    return found as Row<Fields>
  }
}

function unexpected(expected: string, value: unknown): ForeignValueError {
  return new ForeignValueError(
    `Redis answered what no script of this version does: expected ${expected}, got: ${describe(value)}`,
  )
}

const DOUBLE_BYTES = 8

/** A reply of packed doubles, by name: exact, and less work for both sides than text. */
export function packed<const Name extends string>(
  ...names: readonly Name[]
): Read<Readonly<Record<Name, number>>> {
  return (values) => {
    const bytes = values.list[values.next++]
    if (!Buffer.isBuffer(bytes) || bytes.length !== names.length * DOUBLE_BYTES) {
      throw unexpected(`${names.length} packed numbers`, bytes)
    }
    const found = {} as Record<Name, number>
    for (let index = 0; index < names.length; index++) {
      found[names[index]!] = bytes.readDoubleLE(index * DOUBLE_BYTES)
    }
    return found
  }
}

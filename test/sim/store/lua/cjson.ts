import { textArg } from './args.ts'
import { decode } from './cjson-decode.ts'
import { fail } from './error.ts'
import { numberText } from './numbers.ts'
import { LuaTable, NULL, typeName, type Value } from './value.ts'

/** The library `cjson`, as Redis has it. */

const DEEPEST = 1_000
/** An array may have that many holes for each of its items, once it is longer than ten. */
const SPARSE_RATIO = 2
const SPARSE_SAFE = 10

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** Quotes, slashes and control characters; all other bytes stand for themselves. */
const ESCAPED = /["\\/]|[^ -~\u0080-\u00ff]/g

function quoted(text: string): string {
  const escaped = text.replace(ESCAPED, (char) => {
    return ESCAPES[char] ?? `\\u00${char.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
  return `"${escaped}"`
}

function number(value: number): string {
  if (!Number.isFinite(value)) return fail('Cannot serialise number: must not be NaN or Inf')
  return numberText(value)
}

/** The greatest key if all keys are whole and positive; otherwise, and of an empty table, it is no array. */
function lengthOfArray(table: LuaTable): number | undefined {
  let most = 0
  let items = 0
  if (table.map !== undefined) {
    for (const [key, value] of table.map) {
      if (value === undefined) continue
      if (typeof key !== 'number' || !Number.isInteger(key) || key < 1) return undefined
      // C keeps the greatest key in an integer of 32 bits.
      if (key > most) most = key < 2 ** 31 ? key : -(2 ** 31)
      items++
    }
  }
  for (const [at, value] of table.list.entries()) {
    if (value === undefined) continue
    if (at >= most) most = at + 1
    items++
  }
  if (most > items * SPARSE_RATIO && most > SPARSE_SAFE) {
    fail('Cannot serialise table: excessively sparse array')
  }
  return most > 0 ? most : undefined
}

function encode(value: Value, depth: number): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number') return number(value)
  if (typeof value === 'boolean') return `${value}`
  if (value === undefined || value === NULL) return 'null'
  if (!(value instanceof LuaTable)) return fail(`Cannot serialise ${typeName(value)}: type not supported`)
  if (depth >= DEEPEST) return fail(`Cannot serialise, excessive depth (${depth + 1})`)
  const length = lengthOfArray(value)
  const parts: string[] = []
  if (length !== undefined) {
    for (let at = 1; at <= length; at++) parts.push(encode(value.get(at), depth + 1))
    return `[${parts.join(',')}]`
  }
  for (let pair = value.next(undefined); pair; pair = value.next(pair[0])) {
    const [key, item] = pair
    if (typeof key !== 'string' && typeof key !== 'number') {
      return fail(`Cannot serialise ${typeName(key)}: table key must be a number or string`)
    }
    const name = typeof key === 'number' ? `"${number(key)}"` : quoted(key)
    parts.push(`${name}:${encode(item, depth + 1)}`)
  }
  return `{${parts.join(',')}}`
}

export const CJSON: Readonly<Record<string, Value>> = {
  encode: (...args) =>
    args.length === 1 ? encode(args[0], 0) : fail("bad argument #1 to 'encode' (expected 1 argument)"),
  decode: (...args) => {
    if (args.length !== 1) return fail("bad argument #1 to 'decode' (expected 1 argument)")
    const value = decode(textArg(args[0], 1, 'decode'))
    return value === undefined ? [undefined] : value
  },
  null: NULL,
  _NAME: 'cjson',
  _VERSION: '2.1.0',
}

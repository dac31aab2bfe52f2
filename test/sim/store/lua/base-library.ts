import { badArgument, integerArg, integerOr, numberArg, tableArg } from './args.ts'
import { asLuaError, fail, LuaError } from './error.ts'
import { numberText, parseNumber } from './numbers.ts'
import { all, callee, first, truth } from './operators.ts'
import { type LuaFunction, LuaTable, NIL, NULL, type Result, typeName, type Value, Walk } from './value.ts'

/** The functions that scripts call by a bare name. */

/** Tables and functions have a number each, since there is no address. */
const numbers = new WeakMap<object, number>()
let lastNumber = 0

export function textOf(value: Value): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return numberText(value)
  if (value === undefined) return 'nil'
  if (typeof value === 'boolean') return `${value}`
  const handler = value instanceof LuaTable ? value.meta?.get('__tostring') : undefined
  if (handler !== undefined) {
    const text = first(callee(handler)(value))
    return typeof text === 'string' ? text : fail("'tostring' must return a string to 'print'")
  }
  if (value === NULL) return 'userdata: (nil)'
  let number = numbers.get(value)
  if (number === undefined) {
    number = ++lastNumber
    numbers.set(value, number)
  }
  return `${typeName(value)}: 0x${number.toString(16).padStart(12, '0')}`
}

function toNumber(value: Value, base: Value): Value {
  if (base === undefined) {
    if (typeof value === 'number') return value
    return typeof value === 'string' ? parseNumber(value) : undefined
  }
  const radix = integerArg(base, 2, 'tonumber')
  if (radix === 10) return toNumber(value, undefined)
  if (radix < 2 || radix > 36) return badArgument(2, 'tonumber', 'base out of range')
  const text = typeof value === 'number' ? numberText(value) : value
  if (typeof text !== 'string') return badArgument(1, 'tonumber', `string expected, got ${typeName(value)}`)
  return inRadix(text, radix)
}

/** As C's `strtoul`: a sign wraps around 64 bits. */
function inRadix(text: string, radix: number): number | undefined {
  let digits = text.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, '').toLowerCase()
  const isNegative = digits.startsWith('-')
  digits = digits.replace(/^[+-]/, '')
  if (radix === 16) digits = digits.replace(/^0x(?=[0-9a-f])/, '')
  if (digits === '') return undefined
  let value = 0n
  for (const digit of digits) {
    const one = Number.parseInt(digit, 36)
    if (Number.isNaN(one) || one >= radix) return undefined
    value = value * BigInt(radix) + BigInt(one)
  }
  const most = 2n ** 64n - 1n
  if (value > most) return Number(most)
  return Number(isNegative ? BigInt.asUintN(64, -value) : value)
}

function next(table: Value, key: Value): Result {
  const pair = tableArg(table, 1, 'next').next(key)
  if (pair === false) return fail("invalid key to 'next'")
  return pair ?? [undefined]
}

const stepOfIpairs: LuaFunction = (table, at) => {
  const index = (at as number) + 1
  const value = (table as LuaTable).get(index)
  return value === undefined ? [undefined] : [index, value]
}

export function walkPairs(table: Value): Walk {
  return new Walk(tableArg(table, 1, 'pairs'))
}

/** A walk over 1, 2, 3 ... up to the first nil. */
export class ListWalk {
  key = 0
  value: Value = undefined
  readonly #table: LuaTable

  constructor(table: LuaTable) {
    this.#table = table
  }

  step(): boolean {
    this.value = this.#table.get(++this.key)
    return this.value !== undefined
  }
}

export function walkList(table: Value): ListWalk {
  return new ListWalk(tableArg(table, 1, 'ipairs'))
}

function select(which: Value, ...values: Value[]): Result {
  if (which === '#') return values.length
  const from = integerArg(which, 1, 'select')
  if (from < 0) {
    if (-from > values.length) return badArgument(1, 'select', 'index out of range')
    return values.slice(from)
  }
  return from === 0 ? badArgument(1, 'select', 'index out of range') : values.slice(from - 1)
}

/** More than this do not fit on the stack of Lua. */
const MOST_UNPACKED = 7_999

export function unpack(value: Value, from: Value, to: Value): Result {
  const table = tableArg(value, 1, 'unpack')
  const start = integerOr(from, 1, 2, 'unpack')
  const end = to === undefined ? table.length : integerArg(to, 3, 'unpack')
  if (start === 1 && end === table.list.length && end < MOST_UNPACKED) return table.list.slice()
  if (start > end) return []
  if (end - start >= MOST_UNPACKED) return fail('too many results to unpack')
  const values: Value[] = []
  for (let index = start; index <= end; index++) values.push(table.get(index))
  return values
}

function raise(value: Value, level: Value): never {
  const depth = integerOr(level, 1, 2, 'error')
  if ((typeof value === 'string' || typeof value === 'number') && depth > 0) return fail(textOf(value), depth)
  throw new LuaError(value)
}

/** `pcall(error, ...)`: no script called it, so there is no place to tell. */
function raiseFromLibrary(value: Value, level: Value): never {
  const isText = typeof value === 'number' && integerOr(level, 1, 2, 'error') === 1
  throw new LuaError(isText ? textOf(value) : value)
}

function protectedCall(value: Value, ...args: Value[]): Result {
  try {
    if (value === raise) raiseFromLibrary(args[0], args[1])
    return [true, ...all(callee(value)(...args))]
  } catch (thrown) {
    const error = asLuaError(thrown).value
    // Redis hands out the message of an error of its own.
    const message = error instanceof LuaTable ? error.get('err') : undefined
    return [false, typeof message === 'string' ? message : error]
  }
}

function protectedCallWith(value: Value, handler: Value): Result {
  try {
    return [true, ...all(callee(value)())]
  } catch (thrown) {
    return [false, ...all(callee(handler)(asLuaError(thrown).value))]
  }
}

function setMetatable(table: Value, meta: Value): Value {
  const changed = tableArg(table, 1, 'setmetatable')
  if (meta !== undefined && !(meta instanceof LuaTable)) {
    return badArgument(2, 'setmetatable', 'nil or table expected')
  }
  if (changed.isReadOnly) return raiseBare('Attempt to modify a readonly table')
  if (changed.meta?.get('__metatable') !== undefined) return fail('cannot change a protected metatable')
  changed.meta = meta
  return changed
}

function rawSet(table: Value, key: Value, value: Value): Value {
  const changed = tableArg(table, 1, 'rawset')
  if (changed.isReadOnly) return raiseBare('Attempt to modify a readonly table')
  changed.set(key, value)
  return changed
}

export const BASE: Readonly<Record<string, LuaFunction>> = {
  tonumber: (value, base) => toNumber(value, base) ?? NIL,
  tostring: textOf,
  type: (...args) => (args.length === 0 ? badArgument(1, 'type', 'value expected') : typeName(args[0])),
  next,
  pairs: (table) => [next, tableArg(table, 1, 'pairs'), undefined],
  ipairs: (table) => [stepOfIpairs, tableArg(table, 1, 'ipairs'), 0],
  select,
  unpack,
  error: raise,
  assert: (...values) => {
    if (truth(values[0])) return values
    const message = values[1]
    return message === undefined ? raiseBare('assertion failed!') : raiseBare(textOf(message))
  },
  pcall: protectedCall,
  xpcall: protectedCallWith,
  rawget: (table, key) => tableArg(table, 1, 'rawget').get(key) ?? NIL,
  rawset: rawSet,
  rawequal: (one, other) => one === other,
  setmetatable: setMetatable,
  getmetatable: (value) => {
    if (!(value instanceof LuaTable)) return NIL
    return value.meta?.get('__metatable') ?? value.meta ?? NIL
  },
  collectgarbage: (what) => (what === 'count' ? numberArg(0, 1, 'collectgarbage') : 0),
}

/** Without the place before the message. */
function raiseBare(message: string): never {
  throw new LuaError(message)
}

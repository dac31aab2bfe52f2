import type { Cell } from './commons.ts'
import { fail } from './error.ts'
import { numberText, parseNumber } from './numbers.ts'
import { type LuaFunction, LuaTable, type Result, typeName, type Value } from './value.ts'

/** What generated code calls for the operators of Lua. `what` names an operand in messages, as "local 'x'". */

/** The methods of strings, which `('x'):rep(3)` and `('x').rep` find. */
let stringMethods: LuaTable | undefined

export function setStringMethods(methods: LuaTable): void {
  stringMethods = methods
}

export function first(result: Result): Value {
  return Array.isArray(result) ? result[0] : (result as Value)
}

export function all(result: Result): readonly Value[] {
  if (Array.isArray(result)) return result
  return result === undefined ? [] : [result as Value]
}

function metaMethod(value: Value, name: string): Value {
  return value instanceof LuaTable ? value.meta?.get(name) : undefined
}

function named(what: string | undefined): string {
  return what === undefined || what === '' ? 'a' : `${what} (a`
}

function complain(doing: string, value: Value, what: string | undefined): never {
  const end = what === undefined || what === '' ? 'value' : 'value)'
  return fail(`attempt to ${doing} ${named(what)} ${typeName(value)} ${end}`)
}

export function field(object: Value, key: string, what?: string): Value {
  if (!(object instanceof LuaTable)) return indexOther(object, key, what)
  const value = object.map?.get(key)
  return value !== undefined || object.meta === undefined ? value : index(object, key)
}

export function index(object: Value, key: Value, what?: string): Value {
  if (!(object instanceof LuaTable)) return indexOther(object, key, what)
  const value = object.get(key)
  if (value !== undefined || object.meta === undefined) return value
  const handler = object.meta.get('__index')
  if (handler === undefined) return undefined
  return typeof handler === 'function' ? first(handler(object, key)) : index(handler, key)
}

function indexOther(object: Value, key: Value, what: string | undefined): Value {
  if (typeof object === 'string' && stringMethods !== undefined) return stringMethods.get(key)
  return complain('index', object, what)
}

export function setIndex(object: Value, key: Value, value: Value, what?: string): void {
  if (!(object instanceof LuaTable)) complain('index', object, what)
  if (object.meta !== undefined && setByMeta(object, key, value)) return
  if (object.isReadOnly) fail('Attempt to modify a readonly table')
  if (typeof key === 'string') object.put(key, value)
  else if (key === undefined) fail('table index is nil')
  else if (Number.isNaN(key)) fail('table index is NaN')
  else object.set(key, value)
}

function setByMeta(object: LuaTable, key: Value, value: Value): boolean {
  const handler = object.meta!.get('__newindex')
  if (handler === undefined || object.get(key) !== undefined) return false
  if (typeof handler === 'function') handler(object, key, value)
  else setIndex(handler, key, value)
  return true
}

export function callee(value: Value, what?: string): LuaFunction {
  if (typeof value === 'function') return value
  const handler = metaMethod(value, '__call')
  if (typeof handler === 'function') return (...args) => handler(value, ...args)
  return complain('call', value, what)
}

export function truth(value: Value): boolean {
  return value !== undefined && value !== false
}

export function add(left: Value, right: Value, one?: string, other?: string): Value {
  if (typeof left === 'number' && typeof right === 'number') return left + right
  return arithmetic('__add', left, right, one, other)
}

export function subtract(left: Value, right: Value, one?: string, other?: string): Value {
  if (typeof left === 'number' && typeof right === 'number') return left - right
  return arithmetic('__sub', left, right, one, other)
}

export function multiply(left: Value, right: Value, one?: string, other?: string): Value {
  if (typeof left === 'number' && typeof right === 'number') return left * right
  return arithmetic('__mul', left, right, one, other)
}

export function divide(left: Value, right: Value, one?: string, other?: string): Value {
  if (typeof left === 'number' && typeof right === 'number') return left / right
  return arithmetic('__div', left, right, one, other)
}

export function modulo(left: Value, right: Value, one?: string, other?: string): Value {
  if (typeof left === 'number' && typeof right === 'number') return remainder(left, right)
  return arithmetic('__mod', left, right, one, other)
}

export function power(left: Value, right: Value, one?: string, other?: string): Value {
  return arithmetic('__pow', left, right, one, other)
}

export function negate(operand: Value, what?: string): Value {
  if (typeof operand === 'number') return -operand
  return arithmetic('__unm', operand, operand, what, what)
}

function remainder(left: number, right: number): number {
  return left - Math.floor(left / right) * right
}

const ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  __add: (left, right) => left + right,
  __sub: (left, right) => left - right,
  __mul: (left, right) => left * right,
  __div: (left, right) => left / right,
  __mod: remainder,
  // In C, 1 to any power and -1 to an infinite one are 1.
  __pow: (left, right) =>
    left === 1 || (left === -1 && Math.abs(right) === Number.POSITIVE_INFINITY) ? 1 : left ** right,
  __unm: (left) => -left,
}

/** Of other operands than two numbers: texts that are numbers, and metatables. */
function arithmetic(event: string, left: Value, right: Value, one?: string, other?: string): Value {
  const a = numberOf(left)
  const b = numberOf(right)
  if (a !== undefined && b !== undefined) return ARITHMETIC[event]!(a, b)
  const handler = metaMethod(left, event) ?? metaMethod(right, event)
  if (typeof handler === 'function') return first(handler(left, right))
  return a === undefined
    ? complain('perform arithmetic on', left, one)
    : complain('perform arithmetic on', right, other)
}

export function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? parseNumber(value) : undefined
}

export function concat(left: Value, right: Value, one?: string, other?: string): Value {
  if (typeof left === 'string' && typeof right === 'string') return left + right
  if (isTextual(left) && isTextual(right)) return textOf(left) + textOf(right)
  const handler = metaMethod(left, '__concat') ?? metaMethod(right, '__concat')
  if (typeof handler === 'function') return first(handler(left, right))
  return isTextual(left) ? complain('concatenate', right, other) : complain('concatenate', left, one)
}

function isTextual(value: Value): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

function textOf(value: string | number): string {
  return typeof value === 'string' ? value : numberText(value)
}

export function length(value: Value, what?: string): number {
  if (value instanceof LuaTable) return value.length
  return typeof value === 'string' ? value.length : complain('get length of', value, what)
}

export function equal(left: Value, right: Value): boolean {
  if (left === right) return true
  if (!(left instanceof LuaTable && right instanceof LuaTable)) return false
  const handler = metaMethod(left, '__eq')
  if (handler === undefined || handler !== metaMethod(right, '__eq')) return false
  return truth(first(callee(handler)(left, right)))
}

export function less(left: Value, right: Value): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left < right
  if (typeof left === 'string' && typeof right === 'string') return left < right
  return compareByMeta('__lt', left, right)
}

export function lessOrEqual(left: Value, right: Value): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left <= right
  if (typeof left === 'string' && typeof right === 'string') return left <= right
  if (metaMethod(left, '__le') === undefined && metaMethod(left, '__lt') !== undefined) {
    return !compareByMeta('__lt', right, left)
  }
  return compareByMeta('__le', left, right)
}

/** The left operand of a comparison is evaluated first, whichever way it is turned. */
export function greater(left: Value, right: Value): boolean {
  return less(right, left)
}

export function greaterOrEqual(left: Value, right: Value): boolean {
  return lessOrEqual(right, left)
}

function compareByMeta(event: string, left: Value, right: Value): boolean {
  const handler = metaMethod(left, event)
  if (handler !== undefined && handler === metaMethod(right, event)) {
    return truth(first(callee(handler)(left, right)))
  }
  const one = typeName(left)
  const other = typeName(right)
  return fail(
    one === other ? `attempt to compare two ${one} values` : `attempt to compare ${one} with ${other}`,
  )
}

/** One of the three numbers of a `for`. */
export function bound(value: Value, which: 'initial value' | 'limit' | 'step'): number {
  return numberOf(value) ?? fail(`'for' ${which} must be a number`)
}

/** A table as a constructor makes it: the list may end with the results of a call. */
export function list(values: Value[], rest?: readonly Value[]): LuaTable {
  if (rest !== undefined) for (const value of rest) values.push(value)
  return new LuaTable(values)
}

export function setKey(table: LuaTable, key: Value, value: Value): LuaTable {
  setIndex(table, key, value)
  return table
}

/** So many first keys are remembered: a store has few shards. */
const MOST_KEPT = 64

/** The table that the script made when it had the same first key. */
export function kept(cell: Cell, keys: Value, make: () => LuaTable): LuaTable {
  const key = (keys as LuaTable).get(1)
  const known = cell.kept.get(key)
  if (known !== undefined) return known
  const made = make()
  if (cell.kept.size >= MOST_KEPT) cell.kept.clear()
  cell.kept.set(key, made)
  return made
}

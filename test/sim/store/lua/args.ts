import { fail } from './error.ts'
import { numberText } from './numbers.ts'
import { numberOf } from './operators.ts'
import { LuaTable, typeName, type Value } from './value.ts'

/** Reads the arguments of library functions, and complains about them as Lua does. */

export function badArgument(position: number, of: string, what: string): never {
  return fail(`bad argument #${position} to '${of}' (${what})`)
}

function wrongType(value: Value, position: number, of: string, wanted: string): never {
  const got = value === undefined ? 'no value' : typeName(value)
  return badArgument(position, of, `${wanted} expected, got ${got}`)
}

export function numberArg(value: Value, position: number, of: string): number {
  if (typeof value === 'number') return value
  return numberOf(value) ?? wrongType(value, position, of, 'number')
}

/** A whole number, cut off towards zero. */
export function integerArg(value: Value, position: number, of: string): number {
  const number = Math.trunc(numberArg(value, position, of))
  return Math.abs(number) < 2 ** 63 ? number + 0 : LEAST_INTEGER
}

/** What a processor makes of a double that no integer can hold. */
const LEAST_INTEGER = -(2 ** 63)

export function integerOr(value: Value, other: number, position: number, of: string): number {
  return value === undefined ? other : integerArg(value, position, of)
}

export function textArg(value: Value, position: number, of: string): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? numberText(value) : wrongType(value, position, of, 'string')
}

export function tableArg(value: Value, position: number, of: string): LuaTable {
  return value instanceof LuaTable ? value : wrongType(value, position, of, 'table')
}

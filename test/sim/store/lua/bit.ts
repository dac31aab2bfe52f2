import { numberArg } from './args.ts'
import type { LuaFunction, Value } from './value.ts'

/** The library `bit`: numbers are cut to 32 bits with a sign. */

const double = new Float64Array(1)
const halves = new Int32Array(double.buffer)
/** 2^52 + 2^51: added to a number, it puts the bits of its whole part at the end of a double. */
const MAGIC = 6_755_399_441_055_744

function bits(value: Value, position: number, of: string): number {
  double[0] = numberArg(value, position, of) + MAGIC
  return halves[0]!
}

function fold(of: string, apply: (left: number, right: number) => number): LuaFunction {
  return (...values) => {
    let result = bits(values[0], 1, of)
    for (let at = 1; at < values.length; at++) result = apply(result, bits(values[at], at + 1, of))
    return result
  }
}

function shift(of: string, apply: (value: number, by: number) => number): LuaFunction {
  return (value, by) => apply(bits(value, 1, of), bits(by, 2, of) & 31) | 0
}

function swap(value: number): number {
  return (value >>> 24) | ((value >> 8) & 0xff00) | ((value << 8) & 0xff0000) | (value << 24) | 0
}

const toHex: LuaFunction = (value, wanted) => {
  const number = bits(value, 1, 'tohex')
  const digits = wanted === undefined ? 8 : bits(wanted, 2, 'tohex')
  const length = Math.min(8, Math.abs(digits))
  const text = (number >>> 0)
    .toString(16)
    .padStart(8, '0')
    .slice(8 - length)
  return digits < 0 ? text.toUpperCase() : text
}

export const BIT: Readonly<Record<string, LuaFunction>> = {
  tobit: (value) => bits(value, 1, 'tobit'),
  bnot: (value) => ~bits(value, 1, 'bnot'),
  bswap: (value) => swap(bits(value, 1, 'bswap')),
  tohex: toHex,
  band: fold('band', (left, right) => left & right),
  bor: fold('bor', (left, right) => left | right),
  bxor: fold('bxor', (left, right) => left ^ right),
  lshift: shift('lshift', (value, by) => value << by),
  rshift: shift('rshift', (value, by) => value >>> by),
  arshift: shift('arshift', (value, by) => value >> by),
  rol: shift('rol', (value, by) => (value << by) | (value >>> (32 - by))),
  ror: shift('ror', (value, by) => (value >>> by) | (value << (32 - by))),
}

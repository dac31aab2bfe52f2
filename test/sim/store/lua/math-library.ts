import { badArgument, numberArg } from './args.ts'
import type { LuaFunction } from './value.ts'

function one(name: string, apply: (value: number) => number): LuaFunction {
  return (value) => apply(numberArg(value, 1, name))
}

function two(name: string, apply: (left: number, right: number) => number): LuaFunction {
  return (left, right) => {
    // The compiler of C reads them from the last to the first.
    const second = numberArg(right, 2, name)
    return apply(numberArg(left, 1, name), second)
  }
}

function most(...values: Parameters<LuaFunction>): number {
  let best = numberArg(values[0], 1, 'max')
  for (let at = 1; at < values.length; at++) {
    const value = numberArg(values[at], at + 1, 'max')
    if (value > best) best = value
  }
  return best
}

function least(...values: Parameters<LuaFunction>): number {
  let best = numberArg(values[0], 1, 'min')
  for (let at = 1; at < values.length; at++) {
    const value = numberArg(values[at], at + 1, 'min')
    if (value < best) best = value
  }
  return best
}

/** The generator that Redis gives to scripts, so that they draw the same numbers in each run. */
class Drand48 {
  #state = 0x1234abcd330en

  seed(value: number): void {
    this.#state = (BigInt.asUintN(32, BigInt(Math.trunc(value))) << 16n) | 0x330en
  }

  next(): number {
    this.#state = BigInt.asUintN(48, this.#state * 0x5deece66dn + 0xbn)
    return Number(this.#state >> 17n)
  }
}

const RANDOM_MAX = 2 ** 31 - 1
const generator = new Drand48()

/** Before each script. */
export function resetRandom(): void {
  generator.seed(0)
}

const random: LuaFunction = (...args) => {
  const share = (generator.next() % RANDOM_MAX) / RANDOM_MAX
  if (args.length === 0) return share
  const low = args.length === 1 ? 1 : numberArg(args[0], 1, 'random')
  const position = args.length === 1 ? 1 : 2
  const high = numberArg(args[position - 1], position, 'random')
  if (low > high) return badArgument(position, 'random', 'interval is empty')
  return Math.floor(share * (high - low + 1)) + low
}

function fraction(value: number): number[] {
  const whole = Math.trunc(value)
  return [whole, Number.isFinite(value) ? value - whole : Object.is(whole, value) ? 0 : Number.NaN]
}

function mantissa(value: number): number[] {
  if (value === 0 || !Number.isFinite(value)) return [value, 0]
  let exponent = Math.max(-1_023, Math.floor(Math.log2(Math.abs(value))) + 1)
  let share = value * 2 ** -exponent
  while (Math.abs(share) < 0.5) [share, exponent] = [share * 2, exponent - 1]
  while (Math.abs(share) >= 1) [share, exponent] = [share / 2, exponent + 1]
  return [share, exponent]
}

export const MATH: Readonly<Record<string, LuaFunction | number>> = {
  abs: one('abs', Math.abs),
  ceil: one('ceil', Math.ceil),
  floor: one('floor', Math.floor),
  sqrt: one('sqrt', Math.sqrt),
  exp: one('exp', Math.exp),
  log: one('log', Math.log),
  log10: one('log10', Math.log10),
  sin: one('sin', Math.sin),
  cos: one('cos', Math.cos),
  tan: one('tan', Math.tan),
  deg: one('deg', (value) => value / (Math.PI / 180)),
  rad: one('rad', (value) => value * (Math.PI / 180)),
  pow: two('pow', (left, right) => left ** right),
  fmod: two('fmod', (left, right) => left % right),
  mod: two('mod', (left, right) => left % right),
  ldexp: two('ldexp', (left, right) => left * 2 ** right),
  modf: (value) => fraction(numberArg(value, 1, 'modf')),
  frexp: (value) => mantissa(numberArg(value, 1, 'frexp')),
  max: most,
  min: least,
  random,
  randomseed: (seed) => {
    generator.seed(numberArg(seed, 1, 'randomseed'))
    return []
  },
  huge: Number.POSITIVE_INFINITY,
  pi: Math.PI,
}

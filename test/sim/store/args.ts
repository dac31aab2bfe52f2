import { parseNumber } from './lua/numbers.ts'
import { NO_INTEGER, refuse } from './reply.ts'

/** Reads the arguments of commands, as strictly as Redis does. */

const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/
const LEAST = -(2n ** 63n)
const MOST = 2n ** 63n - 1n

/** @throws CommandError */
export function integer(text: string, message = NO_INTEGER): number {
  if (!INTEGER.test(text)) refuse(message)
  const value = Number(text)
  if (!Number.isSafeInteger(value)) bigInteger(text, message)
  return value
}

/** All of 64 bits. @throws CommandError */
export function bigInteger(text: string, message = NO_INTEGER): bigint {
  if (!INTEGER.test(text)) refuse(message)
  const value = BigInt(text)
  return value < LEAST || value > MOST ? refuse(message) : value
}

/** The sum as a text. @throws CommandError when it does not fit */
export function addIntegers(text: string, by: bigint, message: string): string {
  const sum = bigInteger(text, message) + by
  return sum < LEAST || sum > MOST ? refuse('ERR increment or decrement would overflow') : `${sum}`
}

/** @throws CommandError */
export function float(text: string, message = 'ERR value is not a valid float'): number {
  const value = text === '' || /^\s|\s$|\0/.test(text) ? undefined : parseNumber(text)
  return value === undefined || Number.isNaN(value) ? refuse(message) : value
}

/** A time to wait, in microseconds. @throws CommandError */
export function timeout(text: string): number {
  const message = 'ERR timeout is not a float or out of range'
  const seconds = float(text, message)
  if (seconds * 1_000 > 2 ** 62) refuse('ERR timeout is out of range')
  if (seconds < 0) refuse('ERR timeout is negative')
  return Math.ceil(seconds * 1_000) * 1_000
}

/** A place of a list from the front, where a negative one counts from the end. */
export function place(index: number, length: number): number {
  return index < 0 ? index + length : index
}

/** The part of a list from one place to another, both included: start, and the place after its end. */
export function span(from: number, to: number, length: number): readonly [number, number] {
  const start = Math.max(0, place(from, length))
  const end = Math.min(length, place(to, length) + 1)
  return start < end ? [start, end] : [0, 0]
}

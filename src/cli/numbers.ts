import { InvalidArgumentError } from 'commander'
import { quote } from '../core/describe.ts'
import { toError } from '../core/thrown.ts'
import type { Costs } from '../core/usage.ts'
import { formatCostsText, parseCostsText } from '../line/costs-text.ts'

/** Reads a flag as a whole number from `least` to `most`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}, got: ${quote(text)}.`)
  }
}

/** Reads a flag as a number above 0, at most `most`. */
export function positiveNumber(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d*\.?\d+$/.test(text) && value > 0 && value <= most) return value
    throw new InvalidArgumentError(`Expected a number above 0 and at most ${most}, got: ${quote(text)}.`)
  }
}

/** Reads a flag as a percentage, with or without the sign. */
export function percentage(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?) ?%?$/.exec(text) ?? []
  if (number !== undefined && Number(number) <= 100) return Number(number)
  throw new InvalidArgumentError(`Expected a percentage from 0 to 100, got: ${quote(text)}.`)
}

/** Reads a flag as an offset in seconds, 0 or more. */
export function offset(text: string): number {
  if (/^\d*\.?\d+$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`Expected a number of seconds, 0 or more, got: ${quote(text)}.`)
}

/** Reads a flag as a time with its offset from UTC, and returns seconds since the epoch. */
export function moment(text: string): number {
  const at = Date.parse(text)
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/.test(text) && at >= 0) return at / 1_000
  throw new InvalidArgumentError(`Expected a time such as 2026-03-29T00:00:00Z, got: ${quote(text)}.`)
}

/** Reads a flag as costs in named units; given again, it adds further ones. */
export function costsFlag(text: string, before?: Costs): Costs {
  try {
    return parseCostsText(before === undefined ? text : `${formatCostsText(before)},${text}`)
  } catch (error) {
    const { message } = toError(error)
    throw new InvalidArgumentError(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`)
  }
}

/** Formats a count: `12,345`. */
export function formatCount(value: number): string {
  return value.toLocaleString('en')
}

/** The tolerated rounding error of a percentage: 29 of 100 are 0.29, and 28.999999999999996 %. */
const ROUNDING = 1e-9

/** Formats a fill, rounded down: only a full line is 100%, and only an empty one is 0%. */
export function formatFill(fill: number): string {
  return fill > 0 && fill < 0.01 ? '<1%' : `${formatCount(Math.floor(fill * 100 + ROUNDING))}%`
}

/** Formats a part of a whole as a percentage. */
export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '' : `${((100 * part) / whole).toFixed(1)} %`
}

/** Larger offsets are seconds since the epoch, as a service records them. */
export const EPOCH_S = 1e9

/** Formats a moment: an offset, or a date and time. */
export function formatMoment(seconds: number): string {
  return seconds < EPOCH_S ? formatSeconds(seconds) : new Date(seconds * 1_000).toISOString()
}

/** Formats seconds: to the millisecond below ten, in minutes, hours or days when there are many. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(3))} s`
  if (seconds < 600) return `${Number(seconds.toFixed(1))} s`
  const [unit, size] = [['min', 60] as const, ['h', 3_600] as const, ['days', 86_400] as const].findLast(
    ([, size]) => seconds >= 2 * size,
  )!
  return `${(seconds / size).toFixed(1)} ${unit}`
}

import { describe, quote } from './describe.ts'
import {
  checkLength,
  DAY,
  formatDuration,
  HOUR,
  MINUTE,
  parseCount,
  parseDuration,
  SECOND,
} from './duration.ts'
import { InvalidLimitError } from './errors.ts'

/**
 * A leak rate: `count` cost units per `period` microseconds. Kept as written, because the interval between two
 * departures is `period / count` and must never be rounded: rounded down it exceeds the rate, rounded up it loses some
 * of it.
 */
export interface Rate {
  readonly count: number
  readonly period: number
}

/** A rate as text (`10/s`, `100 per 15 minutes`, `every 250ms`) or as `{ count, per }` with `per` a duration. */
export type RateInput = string | { readonly count: number; readonly per: string }

const PER = /^(\d[\d_]*(?:\.\d+)?|\.\d+)\s*(?:r(?=\s*\/))?\s*(?:\/|\bper\b)\s*(.+)$/i
const EVERY = /^every\s+(.+)$/i
export const LARGEST_COUNT = 1e9
export const SMALLEST_COUNT = 1e-6
/** A hint for a limit that would let nothing start. */
export const NOTHING_STARTS = '; to let nothing start, pause the key'
const LONGEST_INTERVAL = 366 * DAY

/** Microseconds between two departures of cost 1; a double, never rounded. */
export function intervalOf(rate: Rate): number {
  return rate.period / rate.count
}

/**
 * Parses `10/s`, `10r/s`, `0.5/s`, `1/sec`, `100/minute`, `100 per 15 minutes`, `every 250ms` or `{ count, per }`.
 *
 * @throws InvalidLimitError for anything else; a bare number is rejected because its period is unknown
 */
export function parseRate(input: RateInput): Rate {
  if (typeof input === 'string') {
    checkLength(input, 'a rate')
    return parseRateText(input.trim().replace(/\s+/g, ' '))
  }
  if (typeof input === 'number') throw bareNumber(String(input))
  if (typeof input !== 'object' || input === null) throw noRate(input)
  // Each field is read once: a getter may give another value the next time.
  const { count, per } = input
  if (typeof per !== 'string') throw noRate(input)
  const unknown = Object.keys(input).find((field) => field !== 'count' && field !== 'per')
  if (unknown !== undefined || typeof count !== 'number') {
    throw new InvalidLimitError(
      `expected a rate of the form { count: 10, per: '1s' }, got: ${unknown === undefined ? describe(count) : quote(unknown)}`,
    )
  }
  return makeRate(count, parseDuration(per), `{ count: ${count}, per: ${quote(per)} }`)
}

function noRate(input: unknown): InvalidLimitError {
  return new InvalidLimitError(
    `expected a rate such as '10/s' or { count: 10, per: '1s' }, got: ${describe(input)}`,
  )
}

/** Formats a rate so that `parseRate` returns the same one. */
export function formatRate(rate: Rate): string {
  const unit = UNIT_OF_PERIOD.get(rate.period)
  if (unit !== undefined) return `${rate.count}/${unit}`
  const period = formatDuration(rate.period)
  return rate.count === 1 ? `every ${period}` : `${rate.count} per ${period}`
}

const UNIT_OF_PERIOD: ReadonlyMap<number, string> = new Map([
  [SECOND, 's'],
  [MINUTE, 'm'],
  [HOUR, 'h'],
  [DAY, 'd'],
])

function parseRateText(text: string): Rate {
  if (/^[+-]?\d[\d_.]*$/.test(text)) throw bareNumber(text)
  const every = EVERY.exec(text)
  if (every !== null) return makeRate(1, parseDuration(every[1]!), quote(text))
  const per = PER.exec(text)
  if (per === null) {
    throw new InvalidLimitError(
      `expected a rate such as 10/s, 100/minute, 100 per 15 minutes or every 250ms, got: ${quote(text)}`,
    )
  }
  return makeRate(parseCount(per[1]!), parseDuration(per[2]!), quote(text))
}

function makeRate(count: number, period: number, written: string): Rate {
  if (!(count >= SMALLEST_COUNT && count <= LARGEST_COUNT)) {
    throw new InvalidLimitError(
      `expected the count of a rate to be above 0 and at most ${LARGEST_COUNT}, got: ${written}${count === 0 ? NOTHING_STARTS : ''}`,
    )
  }
  if (period / count > LONGEST_INTERVAL) {
    throw new InvalidLimitError(`expected a rate of at least one per 366 days, got: ${written}`)
  }
  return Object.freeze({ count, period })
}

function bareNumber(written: string): InvalidLimitError {
  return new InvalidLimitError(
    `a rate needs a period: write ${written}/s or ${written}/minute, got: ${written}`,
  )
}

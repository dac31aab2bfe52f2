import { describe, quote } from './describe.ts'
import { formatDuration, MILLISECOND, parseDuration } from './duration.ts'
import { InvalidLimitError } from './errors.ts'
import { nearest } from './options.ts'
import { formatRate, intervalOf, parseRate, type Rate, type RateInput } from './rate.ts'

/** What a bucket may hold and how fast it leaks. */
export interface Limit {
  /** Cost units that may wait at once; a whole number above 0. */
  readonly capacity: number
  readonly rate: Rate
  /** Microseconds between two departures of cost 1; `rate.period / rate.count`, never rounded. */
  readonly interval: number
  /**
   * Microseconds by which a start may be late without moving the grid of slots, and so by which two starts may
   * be closer than the interval. ATM calls it the cell delay variation tolerance (ITU-T I.371).
   */
  readonly tolerance: number
}

/** A limit as `'<capacity>, <rate>'`, as `'<capacity>, <rate>, tolerance <duration>'`, or as an object. */
export type LimitInput =
  | string
  | { readonly capacity: number; readonly rate: RateInput; readonly tolerance?: string }

const LARGEST_CAPACITY = 1e9
const DEFAULT_TOLERANCE = 5 * MILLISECOND
const LONGEST_TOLERANCE_BELOW_ONE_MS = 10 * MILLISECOND
const FIELDS = ['capacity', 'rate', 'tolerance']

/**
 * Reads `'20, 1/s'`, `'500, 5000/s, tolerance 2ms'` or `{ capacity, rate, tolerance? }`.
 *
 * @throws InvalidLimitError when a part is missing, unknown or out of range, and when the interval is under
 * 1 ms without a tolerance: timers cannot space such starts, so the limit must say how far they may bunch up
 */
export function parseLimit(input: LimitInput): Limit {
  return readLimit(input, true)
}

/** The same for a meter, which counts and has no timer: a short interval needs no tolerance. @throws InvalidLimitError */
export function parseMeterLimit(input: LimitInput): Limit {
  return readLimit(input, false)
}

function readLimit(input: LimitInput, hasTimer: boolean): Limit {
  if (typeof input === 'string') return parseLimitText(input, hasTimer)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new InvalidLimitError(
      `expected a limit such as '100, 10/s' or { capacity: 100, rate: '10/s' }, got: ${describe(input)}`,
    )
  }
  for (const field of Object.keys(input)) {
    if (!FIELDS.includes(field)) throw unknownField(field)
  }
  const { tolerance } = input
  if (tolerance !== undefined && typeof tolerance !== 'string') {
    throw new InvalidLimitError(
      `expected tolerance to be a duration such as '2ms', got: ${describe(tolerance)}`,
    )
  }
  return makeLimit(input.capacity, parseRate(input.rate), tolerance, hasTimer)
}

/** Writes a limit so that `parseLimit` gives the same one back. */
export function formatLimit(limit: Limit): string {
  const text = `${limit.capacity}, ${formatRate(limit.rate)}`
  const isDefault = limit.interval >= MILLISECOND && limit.tolerance === defaultTolerance(limit.interval)
  return isDefault ? text : `${text}, tolerance ${formatDuration(limit.tolerance)}`
}

function parseLimitText(text: string, hasTimer: boolean): Limit {
  const [capacity = '', rate, tolerance, ...rest] = text.split(',').map((part) => part.trim())
  if (rate === undefined || rest.length > 0) {
    throw new InvalidLimitError(`expected '<capacity>, <rate>' such as '100, 10/s', got: ${quote(text)}`)
  }
  if (!/^\d[\d_]*$/.test(capacity)) {
    throw new InvalidLimitError(
      `expected the capacity to be a whole number above 0, got: ${quote(capacity)} in ${quote(text)}`,
    )
  }
  if (tolerance !== undefined && !/^tolerance\s/i.test(tolerance)) {
    throw new InvalidLimitError(
      `expected 'tolerance <duration>' after the rate, got: ${quote(tolerance)} in ${quote(text)}`,
    )
  }
  return makeLimit(
    Number(capacity.replaceAll('_', '')),
    parseRate(rate),
    tolerance?.slice('tolerance'.length),
    hasTimer,
  )
}

function makeLimit(
  capacity: number,
  rate: Rate,
  toleranceText: string | undefined,
  hasTimer: boolean,
): Limit {
  if (!(Number.isInteger(capacity) && capacity >= 1 && capacity <= LARGEST_CAPACITY)) {
    throw new InvalidLimitError(
      `expected the capacity to be a whole number from 1 to ${LARGEST_CAPACITY}, got: ${describe(capacity)}`,
    )
  }
  const interval = intervalOf(rate)
  const tolerance = toleranceText === undefined ? undefined : parseDuration(toleranceText)
  if (hasTimer && interval < MILLISECOND) checkShortInterval(rate, tolerance)
  else if (interval >= MILLISECOND && tolerance !== undefined && tolerance > interval / 4) {
    throw new InvalidLimitError(
      `expected the tolerance to be at most a quarter of the interval (${interval / 4 / MILLISECOND} ms), ` +
        `got: ${formatDuration(tolerance)}`,
    )
  }
  return Object.freeze({ capacity, rate, interval, tolerance: tolerance ?? defaultTolerance(interval) })
}

function checkShortInterval(rate: Rate, tolerance: number | undefined): void {
  if (tolerance === undefined) {
    throw new InvalidLimitError(
      `the rate ${formatRate(rate)} has an interval under 1 ms, which timers cannot keep: ` +
        "say how far starts may bunch up, such as tolerance '2ms', or lower the rate",
    )
  }
  if (tolerance > LONGEST_TOLERANCE_BELOW_ONE_MS) {
    throw new InvalidLimitError(
      `expected the tolerance to be at most 10ms, got: ${formatDuration(tolerance)}`,
    )
  }
}

function defaultTolerance(interval: number): number {
  return Math.min(DEFAULT_TOLERANCE, interval / 4)
}

function unknownField(field: string): InvalidLimitError {
  const suggestion = field === 'burst' ? 'capacity' : nearest(field, FIELDS)
  const hint = suggestion === undefined ? `known are ${FIELDS.join(', ')}` : `did you mean ${suggestion}?`
  return new InvalidLimitError(`unknown field ${quote(field)} in a limit: ${hint}`)
}

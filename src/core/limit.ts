import { describe, quote } from './describe.ts'
import { formatDuration, MILLISECOND } from './duration.ts'
import { InvalidLimitError } from './errors.ts'
import { isTotal } from './key.ts'
import { formatLimit } from './limit-format.ts'
import {
  checkShortInterval,
  defaultTolerance,
  readConcurrency,
  readPace,
  readQuotas,
  readTolerance,
  readWarmUp,
  readWeight,
} from './limit-parts.ts'
import { parseLimitText } from './limit-text.ts'
import { nearest } from './options.ts'
import type { Quota } from './quota.ts'
import type { QuotaInput } from './quota-input.ts'
import { intervalOf, type Rate, type RateInput } from './rate.ts'
import { checkZones } from './window-input.ts'

/** What a bucket may hold and how fast it leaks. */
export interface Limit {
  /** Cost units that may wait at once; a whole number above 0. */
  readonly capacity: number
  readonly rate: Rate
  /** Microseconds between two departures of cost 1; `rate.period / rate.count`, never rounded. */
  readonly interval: number
  /**
   * Microseconds by which a start may be late without moving the grid of slots, and so by which two starts may be
   * closer than the interval. ATM calls it the cell delay variation tolerance (ITU-T I.371). 0 is strict: starts are
   * never closer than the interval, and lost time is never made up. Starts of different workers meet at a total, which so has more:
   * 10 ms by default, whatever its interval.
   */
  readonly tolerance: number
  /** Microseconds of work after which a bucket that was idle or frozen reaches its full rate; 0: at once. */
  readonly warmUp: number
  /** The interval at the beginning of the warm-up; without one it equals `interval`. */
  readonly coldInterval: number
  /** The rate at the beginning of the warm-up, if the limit states it. */
  readonly coldRate?: Rate
  /** What may start in a window, whatever its spacing; none for most limits. */
  readonly quotas: readonly Quota[]
  /** How many attempts may run at once; Infinity: as many as there are handlers. */
  readonly concurrency: number
  /** The share of a total that each bucket has beside others; of a total, the share of its family. */
  readonly weight: number
  /** It is the limit of the sum of a family. */
  readonly isTotal?: true
}

/** Whether the limit has more than a pace: quotas, or a bound on what runs at once. */
export function hasParts({ quotas, concurrency }: Limit): boolean {
  return quotas.length > 0 || concurrency < Number.POSITIVE_INFINITY
}

/** Whether the limit is a pace alone that is always the same. */
export function isSteady(limit: Limit): boolean {
  return !hasParts(limit) && limit.warmUp === 0
}

/**
 * A limit as text, `'<capacity>, <rate>'`, optionally followed by `', tolerance <duration>'`, `', warm-up <duration>'` or
 * `', warm-up <duration> from <rate>'`, quotas such as `', 2000/day'`, and `', 50 at once'`; or as an object with the same parts.
 */
export type LimitInput =
  | string
  | {
      /** Cost units that may wait at once; a whole number above 0. */
      readonly capacity: number
      /** Cost units that depart per time, such as `'10/s'`. */
      readonly rate: RateInput
      /**
       * How late a start may be without moving the next. Default: a quarter of the interval, at most `'5ms'`; 0 is
       * strict spacing.
       */
      readonly tolerance?: string | 0
      /** A duration: how long after idleness or a freeze the rate grows. Default: no warm-up. */
      readonly warmUp?: string
      /** The rate at the beginning of the warm-up. Default: a third of `rate`. */
      readonly coldRate?: RateInput
      /** What may start in a window, whatever its spacing; at most 8. Default: none. */
      readonly quotas?: readonly QuotaInput[]
      /** How many attempts may run at once. Default: as many as there are handlers. */
      readonly concurrency?: number
      /** The share of a total that each bucket has beside others, from 0.001 to 1,000,000; of a total, the share of its family. Default: 1. */
      readonly weight?: number
    }

export const LARGEST_CAPACITY = 1e9
const FIELDS = ['capacity', 'rate', 'tolerance', 'warmUp', 'coldRate', 'quotas', 'concurrency', 'weight']

/**
 * Parses `'20, 1/s'`, `'500, 5000/s, tolerance 2ms'`, `'100, 10/s, warm-up 30s from 2/s'`, `'100, 3/s, 2000/day, 50 at once'` or
 * `{ capacity, rate, tolerance?, warmUp?, coldRate?, quotas?, concurrency? }`.
 *
 * @throws InvalidLimitError if a part is missing, unknown or out of range, or if the interval is under 1 ms without a
 * tolerance: timers cannot space such starts, so the limit must say how far they may bunch up
 * @param pattern of the rule that it is for: the limit of a total, whose pattern ends in `/`, may have any tolerance
 */
export function parseLimit(input: LimitInput, pattern = ''): Limit {
  return withKnownZones(readLimit(input, kindOf(pattern)))
}

/** What a limit is of: a bucket, a total, or what counts and starts nothing. */
type LimitKind = 'bucket' | 'total' | 'counted'

function kindOf(pattern: string): LimitKind {
  return isTotal(pattern) ? 'total' : 'bucket'
}

/**
 * The same for a limit that a process has stored, which may know time zones that are unknown here: the limit can be shown and written
 * again, but the periods of its calendar cannot be computed.
 *
 * @throws InvalidLimitError
 */
export function parseStoredLimit(input: LimitInput, pattern = ''): Limit {
  return readLimit(input, kindOf(pattern))
}

/**
 * The same for what counts at a rate and nothing else, and starts nothing: a short interval needs no tolerance.
 *
 * @throws InvalidLimitError
 */
export function parseMeterLimit(input: LimitInput): Limit {
  const limit = readLimit(input, 'counted')
  if (!hasParts(limit)) return limit
  throw new InvalidLimitError(
    `expected the limit to be a capacity and a rate here, got: ${quote(formatLimit(limit))}`,
  )
}

/**
 * The same for a meter, which counts in quotas, too. It does not learn when something ends, so nothing can be limited at once.
 *
 * @throws InvalidLimitError
 */
export function parseCountedLimit(input: LimitInput): Limit {
  const limit = withKnownZones(readLimit(input, 'counted'))
  if (limit.concurrency === Number.POSITIVE_INFINITY) return limit
  throw new InvalidLimitError(
    `expected the limit of a meter to be a capacity, a rate and quotas, got: ${quote(`${limit.concurrency} at once`)} as well: ` +
      'a meter does not learn when something ends; use tryAcquire of a shaper, whose turns end',
  )
}

function withKnownZones(limit: Limit): Limit {
  checkZones(limit.quotas)
  return limit
}

function readLimit(input: LimitInput, kind: LimitKind): Limit {
  if (typeof input === 'string') return makeLimit(parseLimitText(input), kind)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new InvalidLimitError(
      `expected a limit such as '100, 10/s' or { capacity: 100, rate: '10/s' }, got: ${describe(input)}`,
    )
  }
  for (const field of Object.keys(input)) {
    if (!FIELDS.includes(field)) throw unknownField(field)
  }
  // Each field is read once: a getter may give another value the next time.
  const { capacity, rate, tolerance, warmUp, coldRate, quotas, concurrency, weight } = input
  if (warmUp !== undefined && typeof warmUp !== 'string') {
    throw new InvalidLimitError(`expected warmUp to be a duration such as '30s', got: ${describe(warmUp)}`)
  }
  return makeLimit({ capacity, rate, tolerance, warmUp, coldRate, quotas, concurrency, weight }, kind)
}

function makeLimit(input: Exclude<LimitInput, string>, kind: LimitKind): Limit {
  const { capacity } = input
  if (!(Number.isInteger(capacity) && capacity >= 1 && capacity <= LARGEST_CAPACITY)) {
    throw new InvalidLimitError(
      `expected the capacity to be a whole number from 1 to ${LARGEST_CAPACITY}, got: ${describe(capacity)}`,
    )
  }
  const rate = readPace(input.rate)
  const interval = intervalOf(rate)
  const tolerance = input.tolerance === undefined ? undefined : readTolerance(input.tolerance)
  if (kind === 'bucket' && interval < MILLISECOND) checkShortInterval(rate, tolerance)
  else if (
    kind !== 'total' &&
    interval >= MILLISECOND &&
    tolerance !== undefined &&
    tolerance > interval / 4
  ) {
    throw new InvalidLimitError(
      `expected the tolerance to be at most a quarter of the interval (${interval / 4 / MILLISECOND} ms), ` +
        `got: ${formatDuration(tolerance)}`,
    )
  }
  const even = {
    capacity,
    rate,
    interval,
    tolerance: tolerance ?? defaultTolerance(interval, kind === 'total'),
    quotas: readQuotas(input.quotas),
    concurrency: readConcurrency(input.concurrency),
    weight: readWeight(input.weight),
  }
  return Object.freeze({
    ...even,
    ...readWarmUp(input, rate),
    ...(kind === 'total' && { isTotal: true as const }),
  })
}

function unknownField(field: string): InvalidLimitError {
  const suggestion = field === 'burst' ? 'capacity' : nearest(field, FIELDS)
  const hint = suggestion === undefined ? `known are ${FIELDS.join(', ')}` : `did you mean ${suggestion}?`
  return new InvalidLimitError(`unknown field ${quote(field)} in a limit: ${hint}`)
}

import { describe, quote } from './describe.ts'
import { checkLength, formatDuration, MILLISECOND, parseDuration } from './duration.ts'
import { InvalidLimitError } from './errors.ts'
import type { Quota } from './quota.ts'
import { checkQuotas, parseQuota, unitIn } from './quota-input.ts'
import { formatRate, intervalOf, parseRate, type Rate, type RateInput } from './rate.ts'
import { toError } from './thrown.ts'
import { isWordForJobs } from './unit.ts'

// Each part of a limit, read by itself. All functions throw InvalidLimitError.

/** How a bucket that was idle or frozen reaches its full rate; the same fields of `Limit` say more. */
interface WarmUp {
  readonly warmUp: number
  readonly coldInterval: number
  readonly coldRate?: Rate
}

/** One object for all limits without quotas. */
const NO_QUOTAS: readonly Quota[] = Object.freeze([])

const DEFAULT_TOLERANCE = 5 * MILLISECOND
const TOTAL_TOLERANCE = 10 * MILLISECOND
const LONGEST_TOLERANCE_BELOW_ONE_MS = 10 * MILLISECOND
/** The interval of a cold bucket as a multiple of the normal one, by default; Guava uses the same. */
const COLD_FACTOR = 3
export const MOST_QUOTAS = 8
export const MOST_AT_ONCE = 1e6
const LEAST_WEIGHT = 0.001
const MOST_WEIGHT = 1e6
const NOTHING = /^0+(?:\.0+)?\s*(?:ms|s)?$/

/** Parses the rate of departures, which counts cost units and nothing else. */
export function readPace(input: RateInput): Rate {
  if (typeof input === 'string') checkLength(input, 'a rate')
  const unit = typeof input === 'string' ? unitIn(input) : undefined
  if (unit === undefined) return parseRate(input)
  if (isWordForJobs(unit)) {
    throw new InvalidLimitError(
      `expected the rate to count jobs without a unit, such as '10/s', got: ${quote(`${input}`)}`,
    )
  }
  throw new InvalidLimitError(
    `expected the rate to count jobs, such as '10/s', got: ${quote(`${input}`)}: make ${unit} a quota after it, such as ` +
      `'90000 ${unit}/minute 1200 each'`,
  )
}

export function readQuotas(input: unknown): readonly Quota[] {
  if (input === undefined) return NO_QUOTAS
  if (!Array.isArray(input) || input.length > MOST_QUOTAS) {
    throw new InvalidLimitError(
      `expected quotas to be a list of at most ${MOST_QUOTAS}, such as ['2000/day'], got: ${describe(input)}`,
    )
  }
  if (input.length === 0) return NO_QUOTAS
  // `map` would pass over holes.
  const quotas = Array.from(input, parseQuota)
  checkQuotas(quotas)
  return Object.freeze(quotas)
}

export function readConcurrency(input: unknown): number {
  if (input === undefined) return Number.POSITIVE_INFINITY
  if (Number.isInteger(input) && (input as number) >= 1 && (input as number) <= MOST_AT_ONCE)
    return input as number
  throw new InvalidLimitError(
    `expected the number that may run at once to be a whole number from 1 to ${MOST_AT_ONCE}, got: ${describe(input)}`,
  )
}

/** Parses the share of a total that each bucket has, or a family, beside others. */
export function readWeight(input: unknown): number {
  if (input === undefined) return 1
  if (typeof input === 'number' && input >= LEAST_WEIGHT && input <= MOST_WEIGHT) return input
  throw new InvalidLimitError(
    `expected the weight to be a number from ${LEAST_WEIGHT} to ${MOST_WEIGHT}, such as 3, got: ${describe(input)}`,
  )
}

/** The tolerance of a limit that names none. */
export function defaultTolerance(interval: number, isOfTotal = false): number {
  return isOfTotal ? TOTAL_TOLERANCE : Math.min(DEFAULT_TOLERANCE, interval / 4)
}

/** Parses a tolerance, the only duration that may be 0: then starts keep the whole interval. */
export function readTolerance(input: unknown): number {
  if (input === 0 || (typeof input === 'string' && NOTHING.test(input.trim()))) return 0
  const expected = "expected the tolerance to be a duration such as '2ms', or 0 for strict spacing"
  if (typeof input !== 'string') throw new InvalidLimitError(`${expected}, got: ${describe(input)}`)
  try {
    return parseDuration(input)
  } catch (error) {
    throw new InvalidLimitError(`${expected}, got: ${quote(input)}: ${toError(error).message}`)
  }
}

export function readWarmUp(
  { warmUp, coldRate: given }: { readonly warmUp?: string; readonly coldRate?: RateInput },
  rate: Rate,
): WarmUp {
  const interval = intervalOf(rate)
  if (warmUp === undefined && given === undefined) return { warmUp: 0, coldInterval: interval }
  if (warmUp === undefined) {
    throw new InvalidLimitError(
      `expected a warmUp beside coldRate, such as '30s', got: ${describe(given)} alone`,
    )
  }
  const long = parseDuration(warmUp)
  if (given === undefined) return { warmUp: long, coldInterval: COLD_FACTOR * interval }
  const coldRate = parseRate(given)
  const coldInterval = intervalOf(coldRate)
  if (coldInterval <= interval) {
    throw new InvalidLimitError(
      `expected the cold rate to be slower than the rate (${formatRate(rate)}), got: ${formatRate(coldRate)}`,
    )
  }
  return { warmUp: long, coldInterval, coldRate }
}

export function checkShortInterval(rate: Rate, tolerance: number | undefined): void {
  if (tolerance === undefined) {
    throw new InvalidLimitError(
      `the rate ${formatRate(rate)} has an interval under 1 ms, which timers cannot keep: ` +
        "say how far starts may bunch up, such as tolerance '2ms', or lower the rate; what counts in thousands a second, such as " +
        "tokens, is a quota beside the rate: '90000 tokens/minute 1200 each'",
    )
  }
  if (tolerance > LONGEST_TOLERANCE_BELOW_ONE_MS) {
    throw new InvalidLimitError(
      `expected the tolerance to be at most 10ms, got: ${formatDuration(tolerance)}`,
    )
  }
}

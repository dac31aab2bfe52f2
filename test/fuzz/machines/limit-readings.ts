import { deepStrictEqual, ok } from 'node:assert/strict'
import { type Limit, type LimitInput, parseLimit } from '../../../src/core/limit.ts'
import { formatLimit } from '../../../src/core/limit-format.ts'
import { made, TrapError } from '../hostile-values.ts'
import { pureMachine } from '../machine.ts'
import { type ReadLimit, readLimit } from '../parts/limit-reading.ts'
import { oddLimit } from '../parts/odd-limits.ts'
import { outcomeOf } from '../refusals.ts'

/** What the parser of the package understood, in the words of the second reading. */
export function meaningOf(limit: Limit): ReadLimit {
  const { capacity, interval, tolerance, warmUp, coldInterval, quotas, concurrency } = limit
  return {
    capacity,
    interval,
    tolerance,
    warmUp,
    coldInterval,
    concurrency,
    quotas: quotas.map(({ amount, unit, each, window }) => ({
      amount,
      ...(unit !== undefined && { unit, each: each! }),
      window: 'zone' in window ? `${window.period} in ${window.zone}` : window.length,
    })),
  }
}

/** The same limit as an object. */
function asObject(limit: Limit): LimitInput {
  const { capacity, rate, interval, tolerance, warmUp, coldRate, quotas, concurrency } = limit
  const long = (time: number) => `${time / 1_000}ms`
  return {
    capacity,
    rate: { count: rate.count, per: long(rate.period) },
    // A default may be no whole number of microseconds.
    ...(tolerance !== Math.min(5_000, interval / 4) && { tolerance: tolerance === 0 ? 0 : long(tolerance) }),
    ...(warmUp > 0 && { warmUp: long(warmUp) }),
    ...(coldRate !== undefined && { coldRate: { count: coldRate.count, per: long(coldRate.period) } }),
    quotas: quotas.map(({ amount, unit, each, window }) => ({
      amount,
      ...(unit !== undefined && { unit, each: each! }),
      ...('zone' in window ? { per: window.period, in: window.zone } : { per: long(window.length) }),
    })),
    ...(concurrency < Number.POSITIVE_INFINITY && { concurrency }),
  }
}

/** Undefined where a getter of the value threw. */
function read<Value>(reading: () => Value): Value | undefined {
  try {
    return reading()
  } catch (error) {
    if (error instanceof TrapError) return undefined
    throw error
  }
}

/** Limits are understood as a second reading of the grammar understands them, in all their forms, or are refused where it finds none. */
export const limitReadings = pureMachine(
  { name: 'limits read twice', inputs: oddLimit, few: 2_000, share: 10 },
  (input) => {
    const outcome = read(() => outcomeOf(() => parseLimit(made(input) as LimitInput), 'invalid-limit'))
    if (outcome === undefined) return
    const meant = read(() => readLimit(made(input)))
    if (outcome.kind === 'refused') {
      ok(meant === undefined, `expected it to be read as ${JSON.stringify(meant)}: ${outcome.error.message}`)
      return
    }
    const limit = outcome.value
    deepStrictEqual(meaningOf(limit), meant, formatLimit(limit))
    deepStrictEqual(parseLimit(formatLimit(limit)), limit)
    deepStrictEqual(meaningOf(parseLimit(asObject(limit))), meant)
  },
)

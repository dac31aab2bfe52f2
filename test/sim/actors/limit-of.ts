import { type Limit, type LimitInput, parseLimit } from '../../../src/core/limit.ts'
import type { KeyPlan } from '../plan/plan.ts'
import type { QuotaPlan } from '../plan/set-plan.ts'

/** The limit of a key or of a total, as a shaper is given it. */
export function limitOf(plan: Omit<KeyPlan, 'key'>) {
  const { capacity, rate, tolerance, warmUp, quotas, concurrency, weight } = plan
  return {
    capacity,
    rate: rateOf(rate),
    ...(warmUp !== undefined && { warmUp: `${warmUp.lasts}ms`, coldRate: rateOf(warmUp.from) }),
    ...(tolerance !== undefined && { tolerance: tolerance === 0 ? (0 as const) : `${tolerance}ms` }),
    ...(quotas !== undefined && { quotas: quotas.map(quotaOf) }),
    ...(concurrency !== undefined && { concurrency }),
    ...(weight !== undefined && { weight }),
  } satisfies LimitInput
}

function rateOf({ count, per }: KeyPlan['rate']) {
  return { count, per: `${per}ms` }
}

/** The longest interval of a limit; microseconds. */
export function longestIntervalOf({ interval, warmUp, coldInterval }: Limit): number {
  return warmUp > 0 ? coldInterval : interval
}

/** As the product reads it. */
export function parsedLimitOf(plan: KeyPlan): Limit {
  return parseLimit(limitOf(plan), plan.key)
}

function quotaOf({ amount, window, unit, each }: QuotaPlan) {
  const isRolling = typeof window === 'number'
  return {
    amount,
    per: isRolling ? `${window}ms` : window.period,
    ...(!isRolling && { in: window.zone }),
    ...(unit !== undefined && { unit }),
    ...(each !== undefined && { each }),
  }
}

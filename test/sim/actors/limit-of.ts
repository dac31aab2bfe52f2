import { type Limit, type LimitInput, parseLimit } from '../../../src/core/limit.ts'
import type { KeyPlan } from '../plan/plan.ts'
import type { QuotaPlan } from '../plan/set-plan.ts'

/** The limit of a key or of a total, as a shaper is given it. */
export function limitOf({ capacity, rate, tolerance, quotas, concurrency, weight }: Omit<KeyPlan, 'key'>) {
  return {
    capacity,
    rate: { count: rate.count, per: `${rate.per}ms` },
    ...(tolerance !== undefined && { tolerance: tolerance === 0 ? (0 as const) : `${tolerance}ms` }),
    ...(quotas !== undefined && { quotas: quotas.map(quotaOf) }),
    ...(concurrency !== undefined && { concurrency }),
    ...(weight !== undefined && { weight }),
  } satisfies LimitInput
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

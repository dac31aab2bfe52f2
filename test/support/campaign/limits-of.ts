import { isTotal } from '../../../src/core/key.ts'
import { type Limit, parseLimit } from '../../../src/core/limit.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { ShaperPlan } from './plans.ts'

type Limits = Pick<ShaperPlan, 'keys' | 'limit' | 'limits'>

/** By its path, such as `f/`. */
export function totalsOf({ limits = {} }: Pick<Limits, 'limits'>): Map<string, Limit> {
  const totals = Object.entries(limits).filter(([pattern]) => isTotal(pattern))
  return new Map(totals.map(([path, text]) => [path, parseLimit(text, path)]))
}

export function keyLimitsOf({ keys, limit, limits = {} }: Limits): Map<string, Limit> {
  return new Map(keys.map((key) => [key, parseLimit(limits[key] ?? limit)]))
}

/** With what a history begins: the limit of each key and of each total. */
export function limitEvents(plan: Limits): HistoryEvent[] {
  return [...keyLimitsOf(plan), ...totalsOf(plan)].map(([key, limit]) => {
    return { type: 'limit', at: 0, key, limit }
  })
}

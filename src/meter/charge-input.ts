import { describe } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import type { Quota } from '../core/quota.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import { type Costs, chargesOf } from '../core/usage.ts'
import { checkUnits, readCosts } from '../line/settle.ts'
import type { MeterRule } from './meter-limits.ts'

/** What a fill takes: of the bucket and of quotas without a unit `amount`, of others what `costs` says. */
export interface Charge {
  readonly amount: number
  readonly costs: Costs | undefined
}

/**
 * Reads the arguments behind the key: `(2)`, `({ tokens: 700 })` or `(2, { tokens: 700 })`.
 *
 * @throws InvalidOptionsError
 */
export function readCharge(amount: number | Costs, costs: Costs | undefined, verb: string): Charge {
  if (typeof amount === 'object' && amount !== null && costs === undefined) {
    return { amount: 1, costs: readCosts(amount, verb) }
  }
  checkAmount(amount, verb)
  return { amount, costs: costs === undefined ? undefined : readCosts(costs, verb) }
}

/** @throws InvalidOptionsError */
export function checkAmount(amount: unknown, verb: string): asserts amount is number {
  if (typeof amount === 'number' && amount >= 0 && amount < Number.POSITIVE_INFINITY) return
  throw new InvalidOptionsError(
    `${verb}: expected amount to be a number of units, 0 or more, got: ${describe(amount)}`,
  )
}

/**
 * Returns what the fill counts in each quota of the limit. A unit that it does not name counts `each`, unless the amount is 0.
 *
 * @throws UnknownUnitError, or InvalidOptionsError where a quota would count a fraction
 */
export function chargesFor(
  { limit }: MeterRule,
  key: string,
  { amount, costs }: Charge,
  verb: string,
): number[] {
  if (costs !== undefined) checkUnits(key, limit, costs)
  const counting = limit.quotas.find(({ unit }) => unit === undefined)
  if (counting !== undefined && !Number.isInteger(amount)) throw notWhole(verb, counting, amount)
  if (amount > 0) return chargesOf(limit, { cost: amount, costs })
  return limit.quotas.map(({ unit }) => (unit === undefined ? 0 : (costs?.[unit] ?? 0)))
}

function notWhole(verb: string, quota: Quota, amount: number): InvalidOptionsError {
  return new InvalidOptionsError(
    `${verb}: expected amount to be a whole number, because the quota ${nameOfQuota(quota)} counts it, got: ${amount}`,
  )
}

import { formatDuration } from '../../core/duration.ts'
import type { Limit } from '../../core/limit.ts'
import { isRolling, type Quota } from '../../core/quota.ts'
import { nameOfQuota } from '../../core/quota-input.ts'
import { chargesOf } from '../../core/usage.ts'
import type { Policy, PolicyState } from './policy.ts'

/** One part of a limit, as a policy counts it that refuses. */
export interface Budget {
  /** So many units per window of this length, in microseconds. */
  readonly units: number
  readonly window: number
  /** What one bucket holds, and the microseconds in which one unit of it comes back. */
  readonly burst: number
  readonly interval: number
}

/** Counts one part of a limit for one key. `now` never goes back. */
export interface Counter {
  fits(units: number, now: number): boolean
  /** Counts what fits. */
  take(units: number, now: number): void
  /** Whether a new counter would behave exactly like this one. */
  isOver(now: number): boolean
}

/** The limit's count per period. A fractional count is rounded up, and the window grows with it. */
export function paceOf({ rate, interval, capacity }: Limit): Budget {
  const units = Math.ceil(rate.count)
  return { units, window: units * interval, burst: capacity, interval }
}

export function formatBudget({ units, window }: Budget): string {
  return `${units} per ${formatDuration(Math.round(window))}`
}

/**
 * A policy that counts each part of a limit by a counter of its own, and starts a job at once if it fits into all of them. It can
 * count the pace and quotas that roll. What it leaves out, `leftOut` says.
 */
export function meterPolicy(
  name: string,
  mapping: (limit: Limit) => string,
  open: (budget: Budget, origin: number) => Counter,
): Policy {
  return {
    name,
    mapping: (limit) => {
      const names = limit.quotas.filter(({ window }) => isRolling(window)).map(nameOfQuota)
      return `${mapping(limit)}${names.length === 0 ? '' : `; the same for ${names.join(' and ')}`}`
    },
    open: (limit, origin) => new Meter(limit, (budget) => open(budget, origin)),
  }
}

/** The parts of the limits that meters cannot count, as text: places, and quotas of a calendar. */
export function leftOut(limits: readonly Limit[]): string[] {
  const parts = limits.flatMap(({ quotas, concurrency }) => [
    ...quotas.filter(({ window }) => !isRolling(window)).map(nameOfQuota),
    ...(Number.isFinite(concurrency) ? [`${concurrency} at once`] : []),
  ])
  return [...new Set(parts)]
}

class Meter implements PolicyState {
  readonly #limit: Limit
  readonly #pace: Counter
  /** By the place of the quota in the limit; undefined where it does not roll. */
  readonly #quotas: readonly (Counter | undefined)[]

  constructor(limit: Limit, open: (budget: Budget) => Counter) {
    this.#limit = limit
    this.#pace = open(paceOf(limit))
    this.#quotas = limit.quotas.map((quota) => {
      const budget = budgetOf(quota)
      return budget && open(budget)
    })
  }

  offer(job: Parameters<PolicyState['offer']>[0], now: number): number | undefined {
    const charges = chargesOf(this.#limit, job)
    const fits =
      this.#pace.fits(job.cost, now) &&
      this.#quotas.every((counter, index) => counter?.fits(charges[index]!, now) ?? true)
    if (!fits) return undefined
    this.#pace.take(job.cost, now)
    for (const [index, counter] of this.#quotas.entries()) counter?.take(charges[index]!, now)
    return now
  }

  isOver(now: number): boolean {
    return this.#pace.isOver(now) && this.#quotas.every((counter) => counter?.isOver(now) ?? true)
  }
}

function budgetOf({ amount, window }: Quota): Budget | undefined {
  if (!isRolling(window)) return undefined
  return { units: amount, window: window.length, burst: amount, interval: window.length / amount }
}

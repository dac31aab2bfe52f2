import type { Limit } from '../../core/limit.ts'
import { NANOSECOND } from '../arrival.ts'
import type { Policy, PolicyState } from './policy.ts'
import { formatQuota, quotaOf } from './quota.ts'

/** Counts up to the quota in fixed windows. Two quotas fit around the edge of two windows. */
export const fixedWindow: Policy = {
  name: 'fixed window',
  mapping: (limit) => `${formatQuota(quotaOf(limit))}, counted anew in each window`,
  open: (limit) => new FixedWindow(limit),
}

class FixedWindow implements PolicyState {
  readonly #units: number
  readonly #length: number
  #window = Number.NEGATIVE_INFINITY
  #used = 0

  constructor(limit: Limit) {
    const { units, window } = quotaOf(limit)
    this.#units = units
    this.#length = window
  }

  offer(cost: number, now: number): number | undefined {
    const window = this.#windowOf(now)
    if (window !== this.#window) {
      this.#window = window
      this.#used = 0
    }
    if (this.#used + cost > this.#units) return undefined
    this.#used += cost
    return now
  }

  isOver(now: number): boolean {
    return this.#windowOf(now) !== this.#window
  }

  #windowOf(now: number): number {
    return Math.floor((now + NANOSECOND) / this.#length)
  }
}

import type { Limit } from '../../core/limit.ts'
import { NANOSECOND } from '../arrival.ts'
import type { Policy, PolicyState } from './policy.ts'
import { formatQuota, quotaOf } from './quota.ts'

/**
 * Counts up to the quota over the last `subBuckets` slices of a window: no double quota at an edge, but still bursts.
 */
export function slidingWindow(subBuckets: number): Policy {
  return {
    name: `sliding window (${subBuckets})`,
    mapping: (limit) => `${formatQuota(quotaOf(limit))}, counted over the last ${subBuckets} slices`,
    open: (limit) => new SlidingWindow(limit, subBuckets),
  }
}

class SlidingWindow implements PolicyState {
  readonly #units: number
  readonly #slice: number
  /** A ring buffer: slice n is counted at n modulo its length. */
  readonly #counts: number[]
  #newest = Number.NEGATIVE_INFINITY
  #used = 0

  constructor(limit: Limit, subBuckets: number) {
    const { units, window } = quotaOf(limit)
    this.#units = units
    this.#slice = window / subBuckets
    this.#counts = new Array<number>(subBuckets).fill(0)
  }

  offer(cost: number, now: number): number | undefined {
    this.#slideTo(now)
    if (this.#used + cost > this.#units) return undefined
    this.#used += cost
    this.#counts[this.#newest % this.#counts.length]! += cost
    return now
  }

  isOver(now: number): boolean {
    this.#slideTo(now)
    return this.#used === 0
  }

  #slideTo(now: number): void {
    const slice = Math.floor((now + NANOSECOND) / this.#slice)
    const size = this.#counts.length
    for (let passed = Math.max(0, this.#newest + 1, slice - size + 1); passed <= slice; passed++) {
      this.#used -= this.#counts[passed % size]!
      this.#counts[passed % size] = 0
    }
    this.#newest = slice
  }
}

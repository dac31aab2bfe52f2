import { NANOSECOND } from '../arrival.ts'
import { type Budget, type Counter, formatBudget, meterPolicy, paceOf } from './budget.ts'
import type { Policy } from './policy.ts'

/**
 * Counts up to the budget over the last `subBuckets` slices of a window: no double budget at an edge, but still bursts.
 */
export function slidingWindow(subBuckets: number): Policy {
  return meterPolicy(
    `sliding window (${subBuckets})`,
    (limit) => `${formatBudget(paceOf(limit))}, counted over the last ${subBuckets} slices`,
    (budget) => new SlidingWindow(budget, subBuckets),
  )
}

class SlidingWindow implements Counter {
  readonly #units: number
  readonly #slice: number
  /** A ring buffer: slice n is counted at n modulo its length. */
  readonly #counts: number[]
  #newest = Number.NEGATIVE_INFINITY
  #used = 0

  constructor({ units, window }: Budget, subBuckets: number) {
    this.#units = units
    this.#slice = window / subBuckets
    this.#counts = new Array<number>(subBuckets).fill(0)
  }

  fits(units: number, now: number): boolean {
    this.#slideTo(now)
    return this.#used + units <= this.#units
  }

  take(units: number): void {
    this.#used += units
    this.#counts[this.#newest % this.#counts.length]! += units
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

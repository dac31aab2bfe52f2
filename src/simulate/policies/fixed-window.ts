import { NANOSECOND } from '../arrival.ts'
import { type Budget, type Counter, formatBudget, meterPolicy, paceOf } from './budget.ts'

/** Counts up to the budget in fixed windows. Two budgets fit around the edge of two windows. */
export const fixedWindow = meterPolicy(
  'fixed window',
  (limit) => `${formatBudget(paceOf(limit))}, counted anew in each window`,
  (budget) => new FixedWindow(budget),
)

class FixedWindow implements Counter {
  readonly #units: number
  readonly #length: number
  #window = Number.NEGATIVE_INFINITY
  #used = 0

  constructor({ units, window }: Budget) {
    this.#units = units
    this.#length = window
  }

  fits(units: number, now: number): boolean {
    const window = this.#windowOf(now)
    if (window !== this.#window) {
      this.#window = window
      this.#used = 0
    }
    return this.#used + units <= this.#units
  }

  take(units: number): void {
    this.#used += units
  }

  isOver(now: number): boolean {
    return this.#windowOf(now) !== this.#window
  }

  #windowOf(now: number): number {
    return Math.floor((now + NANOSECOND) / this.#length)
  }
}

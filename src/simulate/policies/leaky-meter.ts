import { formatRate } from '../../core/rate.ts'
import { type Budget, type Counter, meterPolicy } from './budget.ts'

/** Rounding error: a level this little above the capacity counts as at the capacity. */
const DUST = 1e-9

/**
 * The leaky bucket as a meter: it counts and refuses, and queues nothing. Accepted jobs start at once, so a burst of
 * `capacity` passes unchanged. It is the mirror image of the full token bucket: the verdicts are the same.
 */
export const leakyMeter = meterPolicy(
  'leaky bucket as a meter',
  ({ capacity, rate }) => `a level of at most ${capacity}, leaking at ${formatRate(rate)}; nothing waits`,
  (budget) => new LeakyMeter(budget),
)

class LeakyMeter implements Counter {
  readonly #capacity: number
  readonly #interval: number
  #level = 0
  #at = Number.NEGATIVE_INFINITY

  constructor({ burst, interval }: Budget) {
    this.#capacity = burst
    this.#interval = interval
  }

  fits(units: number, now: number): boolean {
    this.#leak(now)
    return this.#level + units <= this.#capacity + DUST
  }

  take(units: number): void {
    this.#level += units
  }

  isOver(now: number): boolean {
    this.#leak(now)
    return this.#level === 0
  }

  #leak(now: number): void {
    this.#level = Math.max(0, this.#level - (now - this.#at) / this.#interval)
    this.#at = now
  }
}

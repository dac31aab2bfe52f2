import { formatRate } from '../../core/rate.ts'
import { type Budget, type Counter, meterPolicy } from './budget.ts'

/** Rounding error: a token this close to whole counts as whole. */
const DUST = 1e-9

/** Saves tokens while idle and spends them at once: a burst of `capacity`, then the rate. */
export const tokenBucketFull = meterPolicy(
  'token bucket, full',
  ({ capacity, rate }) => `starts with ${capacity} tokens, refilled at ${formatRate(rate)}`,
  (budget) => new TokenBucket(budget, Number.NEGATIVE_INFINITY),
)

/** The same after a restart: every bucket starts empty, so the burst comes later. */
export const tokenBucketWarmingUp = meterPolicy(
  'token bucket, warming up',
  ({ capacity, rate }) => `starts empty, refilled at ${formatRate(rate)} up to ${capacity} tokens`,
  (budget, origin) => new TokenBucket(budget, origin),
)

class TokenBucket implements Counter {
  readonly #capacity: number
  readonly #interval: number
  /** When the bucket was empty and started to fill. */
  readonly #origin: number
  #tokens: number
  #at: number

  constructor({ burst, interval }: Budget, origin: number) {
    this.#capacity = burst
    this.#interval = interval
    this.#origin = origin
    this.#tokens = origin === Number.NEGATIVE_INFINITY ? burst : 0
    this.#at = origin
  }

  fits(units: number, now: number): boolean {
    this.#refill(now)
    return this.#tokens + DUST >= units
  }

  take(units: number): void {
    this.#tokens -= units
  }

  isOver(now: number): boolean {
    this.#refill(now)
    const untouched = Math.min(this.#capacity, (now - this.#origin) / this.#interval)
    return this.#tokens >= untouched
  }

  #refill(now: number): void {
    const gained = (now - this.#at) / this.#interval
    this.#tokens = Math.min(this.#capacity, this.#tokens + gained)
    this.#at = now
  }
}

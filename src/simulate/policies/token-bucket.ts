import type { Limit } from '../../core/limit.ts'
import { formatRate } from '../../core/rate.ts'
import type { Policy, PolicyState } from './policy.ts'

/** Rounding error: a token this close to whole counts as whole. */
const DUST = 1e-9

/** Saves tokens while idle and spends them at once: a burst of `capacity`, then the rate. */
export const tokenBucketFull: Policy = {
  name: 'token bucket, full',
  mapping: (limit) => `starts with ${limit.capacity} tokens, refilled at ${formatRate(limit.rate)}`,
  open: (limit) => new TokenBucket(limit, Number.NEGATIVE_INFINITY),
}

/** The same after a restart: every bucket starts empty, so the burst comes later. */
export const tokenBucketWarmingUp: Policy = {
  name: 'token bucket, warming up',
  mapping: (limit) => `starts empty, refilled at ${formatRate(limit.rate)} up to ${limit.capacity} tokens`,
  open: (limit, origin) => new TokenBucket(limit, origin),
}

class TokenBucket implements PolicyState {
  readonly #limit: Limit
  /** When the bucket was empty and started to fill. */
  readonly #origin: number
  #tokens: number
  #at: number

  constructor(limit: Limit, origin: number) {
    this.#limit = limit
    this.#origin = origin
    this.#tokens = origin === Number.NEGATIVE_INFINITY ? limit.capacity : 0
    this.#at = origin
  }

  offer(cost: number, now: number): number | undefined {
    this.#refill(now)
    if (this.#tokens + DUST < cost) return undefined
    this.#tokens -= cost
    return now
  }

  isOver(now: number): boolean {
    this.#refill(now)
    const untouched = Math.min(this.#limit.capacity, (now - this.#origin) / this.#limit.interval)
    return this.#tokens >= untouched
  }

  #refill(now: number): void {
    const gained = (now - this.#at) / this.#limit.interval
    this.#tokens = Math.min(this.#limit.capacity, this.#tokens + gained)
    this.#at = now
  }
}

import type { Limit } from '../../core/limit.ts'
import { formatRate } from '../../core/rate.ts'
import type { Policy, PolicyState } from './policy.ts'

/** Rounding error: a level this little above the capacity counts as at the capacity. */
const DUST = 1e-9

/**
 * The leaky bucket as a meter: it counts and refuses, and queues nothing. Accepted jobs start at once, so a burst of
 * `capacity` passes unchanged. It is the mirror image of the full token bucket: the verdicts are the same.
 */
export const leakyMeter: Policy = {
  name: 'leaky bucket as a meter',
  mapping: (limit) =>
    `a level of at most ${limit.capacity}, leaking at ${formatRate(limit.rate)}; nothing waits`,
  open: (limit) => new LeakyMeter(limit),
}

class LeakyMeter implements PolicyState {
  readonly #limit: Limit
  #level = 0
  #at = Number.NEGATIVE_INFINITY

  constructor(limit: Limit) {
    this.#limit = limit
  }

  offer(cost: number, now: number): number | undefined {
    this.#leak(now)
    if (this.#level + cost > this.#limit.capacity + DUST) return undefined
    this.#level += cost
    return now
  }

  isOver(now: number): boolean {
    this.#leak(now)
    return this.#level === 0
  }

  #leak(now: number): void {
    this.#level = Math.max(0, this.#level - (now - this.#at) / this.#limit.interval)
    this.#at = now
  }
}

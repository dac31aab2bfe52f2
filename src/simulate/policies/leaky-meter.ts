import type { Limit } from '../../core/limit.ts'
import { formatRate } from '../../core/rate.ts'
import type { Policy, PolicyState } from './policy.ts'

/** Float dust: a level that is this little above the rim is at the rim. */
const DUST = 1e-9

/**
 * The other leaky bucket: it counts and refuses, and queues nothing. What it lets through starts at once, so a burst
 * of `capacity` passes as it came. It is the full token bucket seen from below: always the same verdicts.
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

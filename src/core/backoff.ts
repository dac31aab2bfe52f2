import { MILLISECOND } from './duration.ts'

/** How long a failed job waits before its next attempt. */
export interface Backoff {
  /** `fixed`: always `delayMs`. `exponential`: `delayMs`, doubled after every failed attempt, up to `maxDelayMs`. */
  readonly type: 'fixed' | 'exponential'
  /** Milliseconds before the first retry. */
  readonly delayMs: number
  /** Longest delay, in milliseconds. */
  readonly maxDelayMs: number
  /** Share of each delay that is random, 0 to 1, so that jobs that failed together do not retry together. */
  readonly jitter: number
}

/**
 * Caps the exponent: `2 ** 64` exceeds every delay, and a larger one would overflow to Infinity, which times 0 is NaN.
 */
const LARGEST_POWER = 64

/**
 * Returns the microseconds from the end of attempt `attempt` (the first is 1) to the earliest departure of the next.
 *
 * @param random a number from 0 to 1, such as that of `Math.random`
 */
export function backoffDelay(backoff: Backoff, attempt: number, random: number): number {
  const growth = backoff.type === 'fixed' ? 1 : 2 ** Math.min(attempt - 1, LARGEST_POWER)
  const delayMs = Math.min(backoff.delayMs * growth, backoff.maxDelayMs)
  return delayMs * (1 - backoff.jitter * random) * MILLISECOND
}

import { MILLISECOND } from './duration.ts'

/** How long a failed job waits before it may be tried again. */
export interface Backoff {
  /** `fixed`: always `delayMs`. `exponential`: `delayMs`, then twice that, then four times, up to `maxDelayMs`. */
  readonly type: 'fixed' | 'exponential'
  readonly delayMs: number
  readonly maxDelayMs: number
  /** Share of the delay that is left to chance, 0 to 1, so that jobs that failed together do not return together. */
  readonly jitter: number
}

/** Growth beyond any delay; a larger power would be infinite, and nothing times infinity is not a number. */
const LARGEST_POWER = 64

/**
 * Microseconds from the end of attempt `attempt` (1 is the first) to the time when the next one may depart.
 *
 * @param random a number from 0 to 1, as of `Math.random`
 */
export function backoffDelay(backoff: Backoff, attempt: number, random: number): number {
  const growth = backoff.type === 'fixed' ? 1 : 2 ** Math.min(attempt - 1, LARGEST_POWER)
  const delayMs = Math.min(backoff.delayMs * growth, backoff.maxDelayMs)
  return delayMs * (1 - backoff.jitter * random) * MILLISECOND
}

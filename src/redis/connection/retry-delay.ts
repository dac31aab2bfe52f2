import { backoffDelay } from '../../core/backoff.ts'

const RETRY = { type: 'exponential', delayMs: 50, maxDelayMs: 1_000, jitter: 0.5 } as const

/**
 * How long to leave Redis alone after `failures` failures in a row, in microseconds: 50 ms, doubling up to 1 s, of which up to
 * half is left to chance. Processes that share a Redis come back at different times, and work goes on soon after it is back.
 *
 * @param random from 0 to 1
 */
export function retryDelay(failures: number, random = Math.random()): number {
  return backoffDelay(RETRY, failures, random)
}

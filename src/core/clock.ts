/**
 * All that the product knows of time. Every algorithm gets `now` as an argument; whoever must wait gets a clock.
 */
export interface Clock {
  /** Microseconds since the epoch, as a double; never goes back. */
  now(): number
  /**
   * Calls back at `at` or after it, never before and never at once; calling the answer takes the wish back.
   * `precise` spends processor time to be on time to a fraction of a millisecond, else a few late are fine.
   * Being asked keeps no process alive.
   */
  wake(at: number, callback: () => void, precise: boolean): () => void
}

/**
 * The only reading of a real clock. Monotonic: a step of the machine's wall clock moves no departure.
 */
export function monotonicNow(): number {
  return (performance.timeOrigin + performance.now()) * 1_000
}

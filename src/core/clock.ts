/**
 * All that the product knows of time. Every algorithm gets `now` as an argument; whoever must wait gets a clock.
 */
export interface Clock {
  /** Microseconds since the epoch, as a double; never goes back. */
  now(): number
  /**
   * Calls back at `at` or after it, never before and never at once; calling the answer takes the wish back.
   * `slack`: by how many microseconds a late call does no harm; the less, the more processor time is spent on being
   * on time. Being asked keeps no process alive.
   */
  wake(at: number, callback: () => void, slack: number): () => void
}

/**
 * The only reading of a real clock. Monotonic: a step of the machine's wall clock moves no departure.
 */
export function monotonicNow(): number {
  return (performance.timeOrigin + performance.now()) * 1_000
}

/** What the wall clock says, in milliseconds since the epoch, for what others compare with theirs. It may be set back. */
export function wallClockMs(): number {
  return Date.now()
}

/** The only source of time. Algorithms get `now` as an argument; code that has to wait gets a clock. */
export interface Clock {
  /** Microseconds since the epoch, as a double; never goes back. */
  now(): number
  /**
   * Calls `callback` once at `at` or later, never synchronously. Returns a function that cancels it. `slack`: by how
   * many microseconds a late call does no harm; less slack costs more processor time. A pending call does not keep the
   * process alive.
   */
  wake(at: number, callback: () => void, slack: number): () => void
}

/** Reads the real clock; nothing else does. It is monotonic: a step of the machine's wall clock moves no departure. */
export function monotonicNow(): number {
  return (performance.timeOrigin + performance.now()) * 1_000
}

/**
 * Reads the wall clock, in milliseconds since the epoch, for times that are compared with those of other machines. It
 * may go backwards.
 */
export function wallClockMs(): number {
  return Date.now()
}

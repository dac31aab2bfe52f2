/**
 * Estimates the time on the server. Events arrive later than they were written, so the largest of the last differences
 * between the two clocks is the best estimate.
 */
export class ServerClock {
  readonly #now: () => number
  #differences: number[] = []

  /** @param now the clock of this machine, in milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Records that an event written at `at` was read just now. */
  note(at: number): void {
    this.#differences = [...this.#differences, at - this.#now()].slice(-KEPT)
  }

  now(): number {
    return this.#now() + (this.#differences.length === 0 ? 0 : Math.max(...this.#differences))
  }
}

const KEPT = 30

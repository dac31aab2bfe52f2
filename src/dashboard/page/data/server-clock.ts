/**
 * What time it is where the lines are. News always comes later than it was written, so of the last differences between
 * their clock and ours the largest is the nearest to the truth.
 */
export class ServerClock {
  readonly #now: () => number
  #differences: number[] = []

  /** @param now our own clock, in milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now
  }

  /** News written at `at` was read just now. */
  note(at: number): void {
    this.#differences = [...this.#differences, at - this.#now()].slice(-KEPT)
  }

  now(): number {
    return this.#now() + (this.#differences.length === 0 ? 0 : Math.max(...this.#differences))
  }
}

const KEPT = 30

import { NANOSECOND } from './arrival.ts'

/** The most columns; beyond that, neighbours are merged and each becomes twice as wide. */
const MOST_BINS = 512

/**
 * Counts events over a period of unknown length, in bounded memory. The first width should be the interval of the
 * limit: every column then has the same number of evenly spaced departures.
 */
export class TimeBins {
  readonly start: number
  #width: number
  #counts: number[] = []

  /** @param start microseconds; nothing may come before it @param width microseconds of one column at first */
  constructor(start: number, width: number) {
    this.start = start
    this.#width = width
  }

  get width(): number {
    return this.#width
  }

  /** One total per column, from the first to the last that was counted in. */
  get counts(): readonly number[] {
    return this.#counts
  }

  add(at: number, amount: number): void {
    const elapsed = at - this.start + NANOSECOND
    while (elapsed >= this.#width * MOST_BINS) this.#fold()
    const index = Math.floor(elapsed / this.#width)
    while (this.#counts.length <= index) this.#counts.push(0)
    this.#counts[index]! += amount
  }

  /** Widens the columns to `width`, which is theirs or a power of two times that. */
  widenTo(width: number): void {
    while (this.#width < width) this.#fold()
  }

  /** Adds empty columns up to `length`. */
  extendTo(length: number): void {
    while (this.#counts.length < length) this.#counts.push(0)
  }

  #fold(): void {
    const folded: number[] = []
    for (let index = 0; index < this.#counts.length; index += 2) {
      folded.push(this.#counts[index]! + (this.#counts[index + 1] ?? 0))
    }
    this.#counts = folded
    this.#width *= 2
  }
}

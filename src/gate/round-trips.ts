import { MILLISECOND } from '../core/duration.ts'

/** The last so many round trips are looked at. */
const WINDOW = 256
/** Sorting them all for each call would cost more than a call is late by one sample. */
const FRESH_FOR = 16

const SHORTEST_LEAD = MILLISECOND
const LONGEST_LEAD = 50 * MILLISECOND
const LEAD_OF_THE_FIRST = 10 * MILLISECOND

/** How long calls of the gate took, and so how long before a slot it must be asked for. Microseconds. */
export class RoundTrips {
  readonly #last = new Float64Array(WINDOW)
  #count = 0
  #lead = LEAD_OF_THE_FIRST
  #leadIsOf = 0

  add(roundTrip: number): void {
    this.#last[this.#count++ % WINDOW] = roundTrip
  }

  /** The 99th percentile, at least 1 ms and at most 50 ms; 10 ms as long as nothing is known. */
  get lead(): number {
    const size = Math.min(this.#count, WINDOW)
    const isFresh = this.#count - this.#leadIsOf < Math.min(FRESH_FOR, this.#leadIsOf + 1)
    if (size === 0 || isFresh) return this.#lead
    const ascending = this.#last.slice(0, size).sort()
    const percentile = ascending[Math.ceil(size * 0.99) - 1]!
    this.#lead = Math.min(Math.max(percentile, SHORTEST_LEAD), LONGEST_LEAD)
    this.#leadIsOf = this.#count
    return this.#lead
  }
}

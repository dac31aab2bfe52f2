import { SECOND } from '../core/duration.ts'

const PERIOD = 10 * SECOND

/** Lets so many through within ten seconds, and counts those that it keeps back. */
export class Flood {
  readonly #most: number
  #until = Number.NEGATIVE_INFINITY
  #passed = 0
  #kept = 0

  constructor(most: number) {
    this.#most = most
  }

  /** How many were kept back since the last that passed; undefined: this one is too. `now` is in microseconds. */
  pass(now: number): number | undefined {
    if (now >= this.#until) {
      this.#until = now + PERIOD
      this.#passed = 0
    }
    if (this.#passed === this.#most) {
      this.#kept++
      return undefined
    }
    this.#passed++
    const kept = this.#kept
    this.#kept = 0
    return kept
  }
}

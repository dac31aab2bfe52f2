import { SECOND } from '../core/duration.ts'

const PERIOD = 10 * SECOND
const MOST_REMEMBERED = 100

/** Lets a number of log lines through per ten seconds, and counts those that it suppresses. */
export class Flood {
  readonly #most: number
  #until = Number.NEGATIVE_INFINITY
  #passed = 0
  #suppressed = 0

  constructor(most: number) {
    this.#most = most
  }

  /**
   * Returns how many lines were suppressed since the last one that passed; undefined if this one is, too. `now` is in
   * microseconds.
   */
  pass(now: number): number | undefined {
    if (now >= this.#until) {
      this.#until = now + PERIOD
      this.#passed = 0
    }
    if (this.#passed === this.#most) {
      this.#suppressed++
      return undefined
    }
    this.#passed++
    const suppressed = this.#suppressed
    this.#suppressed = 0
    return suppressed
  }
}

/** Lets each text through once per ten seconds, such as an error that repeats while Redis is unavailable. */
export class Repetition {
  readonly #floods = new Map<string, Flood>()

  /** Returns how often the text came since it last passed; undefined if it is suppressed. `now` is in microseconds. */
  note(text: string, now: number): number | undefined {
    let flood = this.#floods.get(text)
    if (flood === undefined) {
      if (this.#floods.size === MOST_REMEMBERED) this.#floods.clear()
      flood = new Flood(1)
      this.#floods.set(text, flood)
    }
    return flood.pass(now)
  }
}

import { SECOND } from '../core/duration.ts'
import type { Limit } from '../core/limit.ts'
import { NANOSECOND } from './arrival.ts'

/** Gaps of this many intervals or more do not matter, so that the starts of idle keys can be deleted. */
export const FARTHEST = 10

/** Measures how evenly the starts of one key are spaced. */
export class Smoothness {
  readonly #interval: number
  /** Starts of the last second, from `#from` on. */
  #recent: number[] = []
  #from = 0
  #last = Number.NEGATIVE_INFINITY
  #lastCost = 1

  constructor(limit: Limit) {
    this.#interval = limit.interval
  }

  /**
   * Adds the next start; starts must be in the order of time.
   *
   * @returns `gap`: the distance from the previous start, in intervals times its cost; infinite for the first.
   * `inOneSecond`: the starts in the second that ends with this one, including it
   */
  start(at: number, cost: number): { gap: number; inOneSecond: number } {
    const gap = (at - this.#last) / (this.#interval * this.#lastCost)
    this.#last = at
    this.#lastCost = cost
    // The second is half open: it contains one of two starts exactly one second apart.
    while (this.#from < this.#recent.length && at - this.#recent[this.#from]! >= SECOND - NANOSECOND)
      this.#from++
    if (this.#from > this.#recent.length / 2) {
      this.#recent = this.#recent.slice(this.#from)
      this.#from = 0
    }
    this.#recent.push(at)
    return { gap, inOneSecond: this.#recent.length - this.#from }
  }

  /** Whether no start from `now` on can be close enough to the last one to matter. */
  isOver(now: number): boolean {
    return now - this.#last >= Math.max(SECOND, FARTHEST * this.#interval * this.#lastCost)
  }
}

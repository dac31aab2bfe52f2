import { SECOND } from '../core/duration.ts'
import type { Limit } from '../core/limit.ts'
import { NANOSECOND } from './arrival.ts'

/** Gaps of this many intervals and more are never asked for, so that the starts of idle keys can be forgotten. */
export const FARTHEST = 10

/** How evenly the starts of one key came, measured as they come. */
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
   * Takes the next start; none may be earlier than the one before it.
   *
   * @returns `gap`: the distance from the start before, in intervals times its cost; infinite for the first.
   * `inOneSecond`: the starts in the second that ends with this one, itself included
   */
  start(at: number, cost: number): { gap: number; inOneSecond: number } {
    const gap = (at - this.#last) / (this.#interval * this.#lastCost)
    this.#last = at
    this.#lastCost = cost
    // The second is half open: of starts exactly one second apart, it holds one.
    while (this.#from < this.#recent.length && at - this.#recent[this.#from]! >= SECOND - NANOSECOND)
      this.#from++
    if (this.#from > this.#recent.length / 2) {
      this.#recent = this.#recent.slice(this.#from)
      this.#from = 0
    }
    this.#recent.push(at)
    return { gap, inOneSecond: this.#recent.length - this.#from }
  }

  /** Whether nothing that starts from `now` on could be near enough to the last start to matter. */
  isOver(now: number): boolean {
    return now - this.#last >= Math.max(SECOND, FARTHEST * this.#interval * this.#lastCost)
  }
}

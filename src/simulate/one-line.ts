import type { RuleBook } from '../core/rule-book.ts'
import type { Arrival } from './arrival.ts'
import { FamilyBook } from './family-book.ts'
import { Fifo } from './fifo.ts'
import { KeyLine } from './key-line.ts'

interface Waiting {
  readonly arrival: Arrival
  readonly departsAt: number
}

interface Family {
  readonly line: KeyLine
  readonly waiting: Fifo<Waiting>
}

/**
 * The same arrivals with one line for each whole family, first come first served, under the limit of its outermost total alone: as if
 * all of its keys were one. Keys that belong to no total are left out.
 */
export class OneLine {
  readonly book: FamilyBook
  readonly #limits: RuleBook
  readonly #handlerTime: number
  readonly #families = new Map<string, Family>()

  /** @param handlerTime how long a handler holds its place, in microseconds */
  constructor(limits: RuleBook, handlerTime = 0) {
    this.#limits = limits
    this.#handlerTime = handlerTime
    this.book = new FamilyBook(limits)
  }

  offer(arrival: Arrival): void {
    const { at, key, cost, costs } = arrival
    const [total] = this.#limits.totalsOf(key)
    if (total === undefined) return
    const known = this.#families.get(total.path)
    const family = known ?? { line: new KeyLine(total.limit, this.#handlerTime), waiting: new Fifo() }
    if (known === undefined) this.#families.set(total.path, family)
    this.#advance(family, at)
    const outcome = family.line.offer(cost, at, costs)
    if (!outcome.accepted) {
      this.book.rejected(arrival, total.path)
      return
    }
    this.book.accepted(arrival)
    family.waiting.push({ arrival, departsAt: outcome.departsAt })
    this.#advance(family, at)
    if (outcome.departsAt > at) this.book.waits(arrival)
  }

  /** No further arrival comes: lets all that wait depart. */
  finish(): void {
    for (const family of this.#families.values()) this.#advance(family, Number.POSITIVE_INFINITY)
  }

  #advance({ waiting }: Family, until: number): void {
    for (let { first } = waiting; first !== undefined && first.departsAt <= until; first = waiting.first) {
      this.book.departed(first.arrival, first.departsAt)
      waiting.shift()
    }
  }
}

import { expect, inject } from 'vitest'
import { dice } from './dice.ts'

/** What a test does by chance: the same for the same seed of the run. */
export class Chance {
  readonly #next: () => number

  /** Each test draws from a stream of its own, whichever tests run before it. */
  constructor(seed = inject('faultSeed'), name = expect.getState().currentTestName ?? '') {
    let hash = seed
    for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193)
    this.#next = dice(hash)
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1))
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!
  }
}

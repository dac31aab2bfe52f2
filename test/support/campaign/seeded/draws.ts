import { dice } from '../dice.ts'

/** What a seed decides, draw by draw. */
export class Draws {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = dice(seed)
    // Seeds that are neighbours begin alike.
    for (let n = 0; n < 8; n++) this.#next()
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1))
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!
  }

  /** True with this probability. */
  hits(probability: number): boolean {
    return this.#next() < probability
  }
}

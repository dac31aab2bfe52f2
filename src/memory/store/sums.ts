/** Numbers that one step of a sum adds up, as a power of two. */
const FAN_BITS = 6
const FAN = 2 ** FAN_BITS

/**
 * Numbers, none of them negative, whose sums are known without adding all of them up: 64 neighbours have a sum, 64 such sums
 * have one, and so on. A change takes one step for each level, and a sum at most 64: for a million numbers that is four levels.
 */
export class Sums {
  /** The numbers, their sums by 64, and so on, down to 64 or fewer. */
  readonly #levels: Float64Array[] = []
  #total = 0

  /** @param length a power of two */
  constructor(length: number) {
    for (let left = length; ; left >>= FAN_BITS) {
      this.#levels.push(new Float64Array(left))
      if (left <= FAN) break
    }
  }

  get total(): number {
    return this.#total
  }

  add(index: number, amount: number): void {
    this.#total += amount
    let at = index
    for (const level of this.#levels) {
      level[at]! += amount
      at >>= FAN_BITS
    }
  }

  /** The sum of all numbers before `index`. */
  before(index: number): number {
    let sum = 0
    let to = index
    for (const level of this.#levels) {
      for (let at = to & -FAN; at < to; at++) sum += level[at]!
      to >>= FAN_BITS
    }
    return sum
  }

  /** How many numbers from `index` on are 0, at least: as many as one look at each level shows. */
  zerosFrom(index: number): number {
    let zeros = 0
    let at = index
    let width = 1
    for (const level of this.#levels) {
      if (level[at] !== 0) break
      zeros = width
      if (at % FAN !== 0) break
      at >>= FAN_BITS
      width *= FAN
    }
    return zeros
  }
}

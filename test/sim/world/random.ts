/** A source of numbers that look random; the same seed gives the same numbers (sfc32). */
export class Random {
  readonly #seed: number
  #a: number
  #b: number
  #c: number
  #count = 1

  constructor(seed: number) {
    this.#seed = seed
    this.#a = seed | 0
    this.#b = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
    this.#c = Math.trunc(seed / 2 ** 32) | 0
    // The first numbers of similar seeds are similar.
    for (let n = 0; n < 12; n++) this.next()
  }

  /** A source of its own for each name: what one part draws does not change what another draws. */
  fork(name: string): Random {
    let hash = Math.imul(this.#seed ^ 0x2545f491, 0x9e3779b1)
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
    return new Random(hash >>> 0)
  }

  /** From 0 to 1, 1 excluded. */
  next(): number {
    return this.uint32() / 2 ** 32
  }

  /** A number of 32 bits. */
  uint32(): number {
    const sum = (this.#a + this.#b + this.#count) | 0
    this.#count = (this.#count + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (this.#c << 21) | (this.#c >>> 11)
    this.#c = (this.#c + sum) | 0
    return sum >>> 0
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  /** A number on a logarithmic scale: each order of magnitude is as likely as the others. */
  log(least: number, most: number): number {
    return least * (most / least) ** this.next()
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!
  }

  /** An item by its weight. */
  weighted<Item>(items: readonly (readonly [weight: number, item: Item])[]): Item {
    let left = this.next() * items.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, item] of items) {
      left -= weight
      if (left < 0) return item
    }
    return items.at(-1)![1]
  }

  fill(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) bytes[at] = this.uint32() & 0xff
  }
}

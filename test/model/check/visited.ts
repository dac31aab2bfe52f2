import type { Cells } from '../store/cells.ts'

/**
 * The states that were found, by a hash of 64 bits: with ten million states two share one once in 400,000 runs. Grows by
 * itself.
 */
export class Visited {
  #slots = new Int32Array(1 << 16)
  #low = new Int32Array(1 << 15)
  #high = new Int32Array(1 << 15)
  #count = 0
  #words: { readonly cells: Cells; readonly words: Int32Array } | undefined

  get count(): number {
    return this.#count
  }

  /** The number of the state; `isNew`: it was found for the first time. */
  find(cells: Cells): { readonly number: number; readonly isNew: boolean } {
    if (this.#words?.cells !== cells) {
      this.#words = { cells, words: new Int32Array(cells.buffer, cells.byteOffset, cells.byteLength / 4) }
    }
    const { words } = this.#words
    let low = 0x9e3779b9 | 0
    let high = 0x85ebca6b | 0
    for (let index = 0; index < words.length; index++) {
      const word = words[index]!
      low = Math.imul(low ^ word, 0xcc9e2d51)
      low = (low << 15) | (low >>> 17)
      high = Math.imul(high ^ (word + index), 0x1b873593)
      high = ((high << 13) | (high >>> 19)) + low
    }
    low = Math.imul(low ^ (high >>> 16), 0x85ebca6b)
    low ^= low >>> 13
    high = Math.imul(high ^ (low >>> 15), 0xc2b2ae35) ^ low
    return this.#insert(low, high)
  }

  #insert(low: number, high: number): { readonly number: number; readonly isNew: boolean } {
    const mask = this.#slots.length - 1
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot]! - 1
      if (number === -1) {
        this.#slots[slot] = ++this.#count
        this.#store(low, high)
        return { number: this.#count - 1, isNew: true }
      }
      if (this.#low[number] === low && this.#high[number] === high) return { number, isNew: false }
    }
  }

  #store(low: number, high: number): void {
    if (this.#count > this.#low.length) {
      this.#low = grown(this.#low)
      this.#high = grown(this.#high)
    }
    this.#low[this.#count - 1] = low
    this.#high[this.#count - 1] = high
    if (this.#count * 2 > this.#slots.length) this.#rehash()
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2)
    const mask = this.#slots.length - 1
    for (let number = 0; number < this.#count; number++) {
      let slot = this.#low[number]! & mask
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
      this.#slots[slot] = number + 1
    }
  }
}

export function grown(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(numbers.length * 2)
  larger.set(numbers)
  return larger
}

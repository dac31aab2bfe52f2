/** An entry of a line; `place` belongs to the line. */
export interface LineEntry {
  place: number
}

const SMALLEST = 4

/**
 * A first-in-first-out line in a ring buffer: joining, stepping out at the front and leaving from the middle take
 * constant time. An entry that leaves from the middle leaves a gap that is skipped at the front, or closed when the ring
 * is full of gaps.
 */
export class Line<Entry extends LineEntry> {
  #ring: (Entry | undefined)[] = new Array(SMALLEST)
  /** Places count up for ever; the ring index is the place modulo the ring's length, a power of two. */
  #front = 0
  #back = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  join(entry: Entry): void {
    if (this.#back - this.#front === this.#ring.length) this.#makeRoom()
    entry.place = this.#back
    this.#ring[this.#back++ & (this.#ring.length - 1)] = entry
    this.#size++
  }

  first(): Entry | undefined {
    this.#skipGaps()
    return this.#ring[this.#front & (this.#ring.length - 1)]
  }

  last(): Entry | undefined {
    for (let place = this.#back - 1; place >= this.#front; place--) {
      const entry = this.#ring[place & (this.#ring.length - 1)]
      if (entry !== undefined) return entry
    }
    return undefined
  }

  /** Takes out the first. */
  next(): Entry | undefined {
    const entry = this.first()
    if (entry !== undefined) this.leave(entry)
    return entry
  }

  /** The entry must be in this line. */
  leave(entry: Entry): void {
    this.#ring[entry.place & (this.#ring.length - 1)] = undefined
    this.#size--
  }

  /** From first to last. */
  *[Symbol.iterator](): Generator<Entry> {
    for (let place = this.#front; place < this.#back; place++) {
      const entry = this.#ring[place & (this.#ring.length - 1)]
      if (entry !== undefined) yield entry
    }
  }

  #skipGaps(): void {
    const mask = this.#ring.length - 1
    while (this.#front < this.#back && this.#ring[this.#front & mask] === undefined) this.#front++
  }

  #makeRoom(): void {
    const entries = [...this]
    const isMostlyGaps = entries.length <= this.#ring.length / 2
    const ring: (Entry | undefined)[] = new Array(isMostlyGaps ? this.#ring.length : this.#ring.length * 2)
    for (const [place, entry] of entries.entries()) {
      entry.place = place
      ring[place] = entry
    }
    this.#ring = ring
    this.#front = 0
    this.#back = entries.length
  }
}

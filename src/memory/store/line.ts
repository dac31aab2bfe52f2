/** One who stands in a line; `place` belongs to the line. */
export interface Standing {
  place: number
}

const SMALLEST = 4

/**
 * A first-in-first-out line in a ring buffer: joining, stepping out at the front and leaving from the middle take
 * constant time. Who leaves from the middle leaves a gap that is skipped at the front, or closed when the ring is
 * full of them.
 */
export class Line<Guest extends Standing> {
  #ring: (Guest | undefined)[] = new Array(SMALLEST)
  /** Places count up for ever; the ring index is the place modulo the ring's length, a power of two. */
  #front = 0
  #back = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  join(guest: Guest): void {
    if (this.#back - this.#front === this.#ring.length) this.#makeRoom()
    guest.place = this.#back
    this.#ring[this.#back++ & (this.#ring.length - 1)] = guest
    this.#size++
  }

  first(): Guest | undefined {
    this.#skipGaps()
    return this.#ring[this.#front & (this.#ring.length - 1)]
  }

  last(): Guest | undefined {
    for (let place = this.#back - 1; place >= this.#front; place--) {
      const guest = this.#ring[place & (this.#ring.length - 1)]
      if (guest !== undefined) return guest
    }
    return undefined
  }

  /** Takes out the first. */
  next(): Guest | undefined {
    const guest = this.first()
    if (guest !== undefined) this.leave(guest)
    return guest
  }

  /** The guest must stand in this line. */
  leave(guest: Guest): void {
    this.#ring[guest.place & (this.#ring.length - 1)] = undefined
    this.#size--
  }

  /** From first to last. */
  *[Symbol.iterator](): Generator<Guest> {
    for (let place = this.#front; place < this.#back; place++) {
      const guest = this.#ring[place & (this.#ring.length - 1)]
      if (guest !== undefined) yield guest
    }
  }

  #skipGaps(): void {
    const mask = this.#ring.length - 1
    while (this.#front < this.#back && this.#ring[this.#front & mask] === undefined) this.#front++
  }

  #makeRoom(): void {
    const guests = [...this]
    const isMostlyGaps = guests.length <= this.#ring.length / 2
    const ring: (Guest | undefined)[] = new Array(isMostlyGaps ? this.#ring.length : this.#ring.length * 2)
    for (const [place, guest] of guests.entries()) {
      guest.place = place
      ring[place] = guest
    }
    this.#ring = ring
    this.#front = 0
    this.#back = guests.length
  }
}

interface Waiting {
  readonly bytes: number
  readonly onTaken: () => void
}

/** Room for so many bytes together; what is larger than all of it gets in alone. Given out in the order of asking. */
export class ByteRoom {
  readonly #size: number
  #taken = 0
  readonly #waiting = new Set<Waiting>()

  constructor(size: number) {
    this.#size = size
  }

  get taken(): number {
    return this.#taken
  }

  /** False: there is no room, or others wait for it. */
  tryTake(bytes: number): boolean {
    if (this.#waiting.size > 0 || !this.#fits(bytes)) return false
    this.#taken += bytes
    return true
  }

  /** Calls back with the room taken, never at once; returns a function that cancels it. */
  take(bytes: number, onTaken: () => void): () => void {
    const waiting = { bytes, onTaken }
    this.#waiting.add(waiting)
    return () => {
      if (this.#waiting.delete(waiting)) this.#admit()
    }
  }

  release(bytes: number): void {
    this.#taken -= bytes
    this.#admit()
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#size
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.bytes)) return
      this.#waiting.delete(waiting)
      this.#taken += waiting.bytes
      waiting.onTaken()
    }
  }
}

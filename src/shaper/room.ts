/** A bounded number of places, given out in the order of asking. */
export class Room {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves with a place taken. */
  take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return Promise.resolve()
    }
    return new Promise((resolve) => void this.#waiting.push(resolve))
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }

  /** Whoever waits is let in, and nobody waits any more. */
  open(): void {
    this.#free = Number.POSITIVE_INFINITY
    for (const enter of this.#waiting.splice(0)) enter()
  }
}

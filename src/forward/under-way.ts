/** Counts pending work. */
export class UnderWay {
  #count = 0
  readonly #waiting = new Set<() => void>()

  async add<Value>(work: Promise<Value>): Promise<Value> {
    this.#count++
    try {
      return await work
    } finally {
      this.#count--
      if (this.#count === 0) for (const notify of this.#waiting) notify()
    }
  }

  /** Resolves when no work is pending, however it ended. */
  async ended(): Promise<void> {
    if (this.#count === 0) return
    await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }
}

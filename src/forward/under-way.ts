/** What has begun and not ended. */
export class UnderWay {
  #count = 0
  readonly #waiting = new Set<() => void>()

  async add<Value>(work: Promise<Value>): Promise<Value> {
    this.#count++
    try {
      return await work
    } finally {
      this.#count--
      if (this.#count === 0) for (const tell of this.#waiting) tell()
    }
  }

  /** Resolves when nothing is under way any more, however it ended. */
  async ended(): Promise<void> {
    if (this.#count === 0) return
    await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }
}

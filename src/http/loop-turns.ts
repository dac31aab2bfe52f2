/**
 * Gives work that holds the event loop for a while its turns: one each time the loop comes round, so that other requests are
 * answered between two of them; and clients take turns, so that one with much work does not delay the work of others.
 */
export class LoopTurns {
  /** By client, in the order in which they are next. */
  readonly #waiting = new Map<string, Set<() => void>>()
  #isArmed = false

  /** Resolves when it is the turn of this client. */
  next(client: string): Promise<void> {
    return new Promise((resolve) => {
      const ofClient = this.#waiting.get(client)
      if (ofClient === undefined) this.#waiting.set(client, new Set([resolve]))
      else ofClient.add(resolve)
      this.#arm()
    })
  }

  #arm(): void {
    if (this.#isArmed || this.#waiting.size === 0) return
    this.#isArmed = true
    setImmediate(() => {
      this.#isArmed = false
      this.#give()
      this.#arm()
    })
  }

  #give(): void {
    const [client, waiting] = this.#waiting.entries().next().value!
    const [first] = waiting
    waiting.delete(first!)
    this.#waiting.delete(client)
    if (waiting.size > 0) this.#waiting.set(client, waiting)
    first!()
  }
}

/** Callbacks of clients, each of which is next in turn: one that has many does not delay the others. */
export class ClientQueue {
  /** By client, in the order in which they are next. */
  readonly #waiting = new Map<string, Set<() => void>>()

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** Adds a callback behind the others of this client. */
  add(client: string, callback: () => void): void {
    const ofClient = this.#waiting.get(client)
    if (ofClient === undefined) this.#waiting.set(client, new Set([callback]))
    else ofClient.add(callback)
  }

  /** Removes the first callback of the client that is next, and returns it. */
  take(): (() => void) | undefined {
    for (const [client, callbacks] of this.#waiting) {
      const [first] = callbacks
      callbacks.delete(first!)
      this.#waiting.delete(client)
      if (callbacks.size > 0) this.#waiting.set(client, callbacks)
      return first
    }
    return undefined
  }
}

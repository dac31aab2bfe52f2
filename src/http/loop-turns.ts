import { ClientQueue } from './client-queue.ts'

/**
 * Gives work that holds the event loop for a while its turns: one each time the loop comes round, so that other requests are
 * answered between two of them; and clients take turns, so that one with much work does not delay the work of others.
 */
export class LoopTurns {
  readonly #queue = new ClientQueue()
  #isArmed = false

  /** Resolves when it is the turn of this client. */
  next(client: string): Promise<void> {
    return new Promise((resolve) => {
      this.#queue.add(client, resolve)
      this.#arm()
    })
  }

  #arm(): void {
    if (this.#isArmed || this.#queue.isEmpty) return
    this.#isArmed = true
    setImmediate(() => {
      this.#isArmed = false
      this.#queue.take()!()
      this.#arm()
    })
  }
}

/**
 * Commands that wait on one client for their answers. ioredis forgets those of a client that is ended without a connection, or while
 * it makes one after it lost one: neither do they fail, nor do they end.
 */
export class ClientWaits {
  readonly #waiting = new Set<(error: Error) => void>()

  /** The answer, or the error with which `fail` is called first. */
  add<Answer>(sent: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      sent.then(resolve, reject).finally(() => this.#waiting.delete(reject))
    })
  }

  fail(error: Error): void {
    for (const reject of this.#waiting) reject(error)
    this.#waiting.clear()
  }
}

import { toError } from '../../core/thrown.ts'
import { asBackendError } from '../connection/redis-errors.ts'

const MOST_REMEMBERED = 100

/**
 * Tells each error once until all is well again: while Redis is away, every queue and every worker says the same
 * with every try to connect.
 */
export class OutageNews {
  readonly #onError: (error: Error) => void
  readonly #told = new Set<string>()

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  readonly tell = (thrown: unknown): void => {
    const error = asBackendError(toError(thrown))
    if (this.#told.has(error.message)) return
    if (this.#told.size === MOST_REMEMBERED) this.#told.clear()
    this.#told.add(error.message)
    this.#onError(error)
  }

  readonly over = (): void => this.#told.clear()
}

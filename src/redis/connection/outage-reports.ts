import { toError } from '../../core/thrown.ts'
import { asBackendError } from './redis-errors.ts'

const MOST_REMEMBERED = 100

/**
 * Reports each error once until the outage is over. While Redis is away, every queue and every worker fails in the same way
 * with every try to connect.
 */
export class OutageReports {
  readonly #onError: (error: Error) => void
  readonly #reported = new Set<string>()

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  readonly report = (thrown: unknown): void => {
    const error = asBackendError(toError(thrown))
    if (this.#reported.has(error.message)) return
    if (this.#reported.size === MOST_REMEMBERED) this.#reported.clear()
    this.#reported.add(error.message)
    this.#onError(error)
  }

  /** Redis works again: the next error is reported. */
  readonly over = (): void => this.#reported.clear()
}

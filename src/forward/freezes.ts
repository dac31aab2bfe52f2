import { LONGEST_FREEZE_MS } from '../core/handler-errors.ts'

/** Growth without Retry-After ends here. */
const LONGEST_GROWN_MS = 60_000
/** Keys that are remembered; beyond, the one that was frozen first starts anew. */
const MOST_KEYS = 10_000

interface Frozen {
  readonly forMs: number
  readonly until: number
}

/**
 * For how long a key is frozen: as long as it was asked for, else longer each time until a request succeeds.
 * Requests of one key that were on their way together find the same trouble: that is one time, not many.
 */
export class Freezes {
  readonly #firstMs: number
  readonly #longestMs: number
  readonly #last = new Map<string, Frozen>()

  /** @param longestMs where the growth ends; what was asked for is for others to bound */
  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs
    this.#longestMs = longestMs
  }

  /**
   * @param askedMs of Retry-After; undefined when it did not come
   * @param now milliseconds since the epoch
   */
  next(key: string, askedMs: number | undefined, now: number): number {
    if (askedMs !== undefined) return Math.min(askedMs, LONGEST_FREEZE_MS)
    const last = this.#last.get(key)
    // A clock that was set back would make it seem far away.
    if (last !== undefined && now < last.until) return Math.min(last.until - now, last.forMs)
    const forMs = this.#grow(last)
    this.#last.delete(key)
    this.#last.set(key, { forMs, until: now + forMs })
    if (this.#last.size > MOST_KEYS) this.#last.delete(this.#last.keys().next().value!)
    return forMs
  }

  succeeded(key: string): void {
    this.#last.delete(key)
  }

  #grow(last: Frozen | undefined): number {
    const grown = last === undefined ? this.#firstMs : last.forMs * 2
    return Math.min(grown, Math.max(LONGEST_GROWN_MS, this.#firstMs), this.#longestMs)
  }
}

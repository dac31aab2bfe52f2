import { LONGEST_FREEZE_MS } from '../core/handler-errors.ts'

/** The longest freeze without Retry-After. */
const LONGEST_GROWN_MS = 60_000
/** Remembered keys; beyond that, the oldest one is forgotten. */
const MOST_KEYS = 10_000

interface Frozen {
  readonly forMs: number
  readonly until: number
}

/**
 * Determines how long a key is frozen: as long as the response asked for, otherwise longer each time until a request
 * succeeds. Requests of one key that were sent concurrently hit the same problem: they count once.
 */
export class Freezes {
  readonly #firstMs: number
  readonly #longestMs: number
  readonly #last = new Map<string, Frozen>()

  /**
   * @param longestMs where the growth ends; a requested freeze is bounded by the worker
   */
  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs
    this.#longestMs = longestMs
  }

  /**
   * Returns how long to freeze the key, in milliseconds.
   *
   * @param askedMs the Retry-After; undefined if there is none
   * @param now milliseconds since the epoch
   */
  next(key: string, askedMs: number | undefined, now: number): number {
    if (askedMs !== undefined) return Math.min(askedMs, LONGEST_FREEZE_MS)
    const last = this.#last.get(key)
    // After a clock was set back, `until` would seem far away.
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

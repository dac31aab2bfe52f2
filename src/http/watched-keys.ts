import { monotonicNow } from '../core/clock.ts'
import { quote } from '../core/describe.ts'
import { MOST_WATCHED, WATCHED_FOR } from '../core/line-view.ts'
import type { Principal } from './access.ts'
import { tokenQuota } from './problem.ts'
import { hasEveryRight } from './rights.ts'

/** What all tokens may watch that are not of the operator. */
const MOST_OF_TENANTS = MOST_WATCHED * 0.9

interface Watch {
  /** The end of the last request's watch, in microseconds. */
  until: number
  /** Streams that show the bucket. */
  streams: number
}

/**
 * The keys that each token watches: a shaper records the last verdicts and departures of 100 buckets, and one more takes
 * the place of the one that was asked for longest ago. So a token has only some of them. Tokens of the operator are not
 * counted; some places are left for them.
 */
export class WatchedKeys {
  readonly #perToken: number
  readonly #now: () => number
  /** By the name of the token, then by key. */
  readonly #watches = new Map<string, Map<string, Watch>>()

  constructor(perToken: number, now: () => number = monotonicNow) {
    this.#perToken = perToken
    this.#now = now
  }

  /** Counts a request for a bucket. @throws Problem 429 */
  ask(principal: Principal, key: string): void {
    if (hasEveryRight(principal)) return
    this.#watch(principal, key).until = this.#now() + WATCHED_FOR
  }

  /** Counts a stream that shows a bucket, until the returned function is called. @throws Problem 429 */
  hold(principal: Principal, key: string): () => void {
    if (hasEveryRight(principal)) return () => undefined
    const watch = this.#watch(principal, key)
    watch.streams++
    return () => {
      watch.streams--
      // The shaper goes on with it for as long.
      watch.until = this.#now() + WATCHED_FOR
    }
  }

  #watch({ name }: Principal, key: string): Watch {
    this.#forget()
    const ofToken = this.#watches.get(name) ?? new Map<string, Watch>()
    const known = ofToken.get(key)
    if (known !== undefined) return known
    const all = [...this.#watches.values()].reduce((total, { size }) => total + size, 0)
    if (ofToken.size >= this.#perToken || all >= MOST_OF_TENANTS) {
      throw tokenQuota(
        `expected a token to watch at most ${this.#perToken} buckets, and all tokens ${MOST_OF_TENANTS}, ` +
          `got one more: ${quote(key)}; a watch ends 30 s after its last request`,
      )
    }
    const watch = { until: Number.NEGATIVE_INFINITY, streams: 0 }
    ofToken.set(key, watch)
    this.#watches.set(name, ofToken)
    return watch
  }

  #forget(): void {
    const now = this.#now()
    for (const [name, ofToken] of this.#watches) {
      for (const [key, { until, streams }] of ofToken) if (streams === 0 && until <= now) ofToken.delete(key)
      if (ofToken.size === 0) this.#watches.delete(name)
    }
  }
}

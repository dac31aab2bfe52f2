import type { Principal } from './access.ts'
import { reducedCapacity, tokenQuota } from './problem.ts'
import { Quota } from './quota.ts'

/** Requests of one token, and of all, that look through all buckets at the same time. */
const PER_TOKEN = 5
const MOST = 50

/**
 * Bounds the requests that look through all buckets. Their walks take turns, so with many of one token those of another would
 * take long; on Redis each works on its own.
 */
export class WalkQuota {
  readonly #places = new Quota({ most: MOST, perToken: PER_TOKEN })

  /** @throws Problem 429 or 503 */
  async run<Answer>(principal: Principal, walk: () => Promise<Answer>): Promise<Answer> {
    const exhausted = this.#places.exhausted(principal)
    if (exhausted === 'all') throw reducedCapacity('too many requests look through the buckets')
    if (exhausted === 'token') {
      throw tokenQuota(
        `expected at most ${PER_TOKEN} requests of one token at once that look through the buckets`,
      )
    }
    this.#places.take(principal)
    try {
      return await walk()
    } finally {
      this.#places.putBack(principal)
    }
  }
}

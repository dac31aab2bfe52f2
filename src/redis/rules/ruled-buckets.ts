import type { LayeredBook } from '../../core/layered-book.ts'
import type { Store } from '../scripts/store.ts'
import { retimeBuckets } from './retime.ts'

/** In so many shards at a time buckets are changed: they may be on one server, where starts wait for it meanwhile. */
const RETIMED_TOGETHER = 8

interface RulesInForce {
  readonly book: LayeredBook
  readonly version: number
  /** Updates the older book, that of the shard or that of this process. */
  settle(shard: number, theirs: number): Promise<void>
}

/**
 * Applies the rule book to all buckets. The process that changes the book does it; where that process did not finish, and may
 * have died, another does it that learns of it from the reply of a verb.
 */
export class RuledBuckets {
  readonly #store: Store
  readonly #rules: RulesInForce
  /** By shard, the version that a process has to apply to some buckets which knows their time zones. */
  readonly #left = new Map<number, number>()
  #isSettling = false

  constructor(store: Store, rules: RulesInForce) {
    this.#store = store
    this.#rules = rules
  }

  /**
   * Takes the version of a shard's book, and the version that all its buckets follow (`retimed`), from the reply of a verb that
   * sends no rule. If they differ, updates the book or the buckets in the background; a failure is retried at the next verb.
   */
  noteVersion(shard: number, version: number, retimed: number): void {
    const isApplied = retimed === version || this.#left.get(shard) === version
    const isKnown = version === this.#rules.version
    if (this.#isSettling || (isKnown && isApplied)) return
    this.#isSettling = true
    this.#settle(shard, version, isApplied)
      .catch(() => undefined)
      .finally(() => {
        this.#isSettling = false
      })
  }

  /** Applies the book to the buckets of all shards. */
  async retime(now?: number): Promise<void> {
    await this.#store.everywhere((shard) => this.#retime(shard, now), RETIMED_TOGETHER)
  }

  async #settle(shard: number, version: number, isApplied: boolean): Promise<void> {
    if (version !== this.#rules.version) await this.#rules.settle(shard, version)
    if (!isApplied) await this.#retime(shard)
  }

  async #retime(shard: number, now?: number): Promise<void> {
    const { version } = this.#rules
    if (!(await retimeBuckets(this.#store, shard, () => this.#rules.book, now))) {
      this.#left.set(shard, version)
    }
  }
}

import { ShardCountError } from '../../core/errors.ts'
import { shardKey } from '../scripts/keys.ts'
import { list, number, oneOf } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

const reply = list(oneOf({ ok: { shards: number }, other: { shards: number, alive: number } }))
const script = defineScript('layout', import.meta.url, reply)

/**
 * The number of shards of a line, on which all of its processes must agree: with another number a process would look for keys
 * where they are not. Each shard knows the number; processes compare it when they open the line, at each admission (in `admit`
 * itself), and twice a second. The first shard is the same for every number.
 */
export class Layout {
  readonly #store: Store
  readonly #storeOf: (shards: number) => Store
  #isReported = false

  /** @param storeOf the same line with another number of shards */
  constructor(store: Store, storeOf: (shards: number) => Store) {
    this.#store = store
    this.#storeOf = storeOf
  }

  get shards(): number {
    return this.#store.tags.length
  }

  /** Sets the number where there is none, or where nothing lives under another. @throws ShardCountError */
  async agree(now?: number): Promise<void> {
    const first = await this.#ask(this.#store, 0, '', now)
    const wider = first > this.shards ? this.#storeOf(first) : this.#store
    const others = wider.tags.slice(1).map((_, index) => this.#ask(wider, index + 1, '', now))
    const found = [first, ...(await Promise.all(others))]
    // One after the other, beginning with the first shard: of two processes that start together, one is refused there.
    for (const [shard, shards] of found.entries()) {
      if (shards !== this.shards) await this.#ask(wider, shard, shards, now)
    }
  }

  /** The error to report when the line has got another number since it was opened; once. */
  async follow(): Promise<ShardCountError[]> {
    const shards = Number((await this.#store.field(shardKey(this.#store.tags[0]!, 'meta'), 'shards')) ?? 0)
    const isOther = shards !== 0 && shards !== this.shards
    const isNews = isOther && !this.#isReported
    this.#isReported = isOther
    return isNews ? [new ShardCountError(shards, this.shards)] : []
  }

  /** @param replaced the number that was found and is to be replaced; empty: only compare */
  async #ask(store: Store, shard: number, replaced: number | '', now?: number): Promise<number> {
    const values = [this.shards, replaced]
    const found = await store.write(script, shard, values, now)
    if (found.kind === 'other') throw new ShardCountError(found.shards, this.shards, found.alive)
    return found.shards
  }
}

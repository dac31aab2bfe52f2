import { ShardCountError } from '../../core/errors.ts'
import { list, number, oneOf } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

const reply = list(oneOf({ ok: { shards: number }, other: { shards: number, alive: number } }))
const script = defineScript('layout', import.meta.url, reply)

/**
 * Checks that all processes of a line use the same number of shards: with another number, a process would look for keys in the
 * wrong shards. Each shard stores the number; a process compares it when it opens the line, at each admission (in `admit`
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

  /** Stores the number if there is none, or if nothing is in use under another number. @throws ShardCountError */
  async agree(now?: number): Promise<void> {
    const first = await this.#ask(this.#store, 0, '', now)
    const wider = first > this.shards ? this.#storeOf(first) : this.#store
    const found = [first]
    await wider.everywhere(async (shard) => {
      found[shard] ??= await this.#ask(wider, shard, '', now)
    })
    const agree = async (shard: number) => {
      if (found[shard] !== this.shards) await this.#ask(wider, shard, found[shard]!, now)
      found[shard] = this.shards
    }
    // In the first shard before the others: of two processes that start at the same time, one is refused there.
    await agree(0)
    await wider.everywhere(agree)
  }

  /**
   * Returns an error, once, if the number of shards has changed since the line was opened.
   *
   * @param stored the number as the first shard has it
   */
  follow(stored: string | undefined): ShardCountError[] {
    const shards = Number(stored ?? 0)
    const isOther = shards !== 0 && shards !== this.shards
    const isNew = isOther && !this.#isReported
    this.#isReported = isOther
    return isNew ? [new ShardCountError(shards, this.shards)] : []
  }

  /** @param replaced the number that was found and should be replaced; empty to compare only */
  async #ask(store: Store, shard: number, replaced: number | '', now?: number): Promise<number> {
    const values = [this.shards, replaced]
    const found = await store.write(script, shard, values, now)
    if (found.kind === 'other') throw new ShardCountError(found.shards, this.shards, found.alive)
    return found.shards
  }
}

import { shardKey } from '../scripts/keys.ts'
import type { Store } from '../scripts/store.ts'
import { parseMark, type ShardMark } from './book.ts'

/** The mark of each shard as this process knows it: a shard whose name has changed has lost its data. */
export class ShardMarks {
  readonly #store: Store
  readonly #marks: (ShardMark | undefined)[] = []

  constructor(store: Store) {
    this.#store = store
  }

  /** Undefined: none is known yet. */
  get(shard: number): ShardMark | undefined {
    return this.#marks[shard]
  }

  set(shard: number, mark: ShardMark | undefined): void {
    this.#marks[shard] = mark
  }

  /** Reads those of shards that are not known yet, with retries. */
  async learn(): Promise<void> {
    await this.#store.everywhere(async (shard) => {
      this.#marks[shard] ??= await this.read(shard, { isPatient: true })
    })
  }

  /** Reads one as it is in Redis, and keeps nothing. */
  async read(shard: number, options: { readonly isPatient?: boolean } = {}): Promise<ShardMark | undefined> {
    return parseMark(await this.#store.field(shardKey(this.#store.tags[shard]!, 'meta'), 'mark', options))
  }
}

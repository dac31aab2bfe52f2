import { randomBytes } from 'node:crypto'
import { shardKey } from '../scripts/keys.ts'
import type { Store } from '../scripts/store.ts'
import { parseMark, type ShardMark, type WrittenBook, writeBook } from './book.ts'

/** Called when a shard has lost its data and other processes have begun to fill it again. */
export type OnLost = (shard: number, now: number | undefined) => Promise<void>

/** The mark of each shard as this process knows it: a shard whose name has changed has lost its data. */
export class ShardMarks {
  readonly #store: Store
  readonly #onLost: OnLost
  /** A name for a shard that has none yet. */
  readonly #newName = randomBytes(6).toString('base64url')
  readonly #marks: (ShardMark | undefined)[] = []

  constructor(store: Store, onLost: OnLost) {
    this.#store = store
    this.#onLost = onLost
  }

  /** Undefined: none is known yet. */
  get(shard: number): ShardMark | undefined {
    return this.#marks[shard]
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

  /** Keeps a mark that was read. Where it shows a loss, only after `onLost`: until that succeeds, the loss is found again. */
  async keep(shard: number, found: ShardMark): Promise<void> {
    const known = this.#marks[shard]
    if (known !== undefined && found.name !== known.name) await this.#onLost(shard, undefined)
    this.#marks[shard] = found
  }

  /** Writes the book into a shard, and keeps its new mark. Returns undefined if the shard has a newer book. */
  async write(shard: number, book: WrittenBook, now?: number): Promise<number | undefined> {
    const known = { name: this.#newName, hasSeen: this.#marks[shard] !== undefined }
    const written = await writeBook(this.#store, shard, book, known, now)
    if (written === undefined) return undefined
    this.#marks[shard] = written.mark
    return written.at
  }
}

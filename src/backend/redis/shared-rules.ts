import { BackendUnavailableError, OldRuleBookError } from '../../core/errors.ts'
import { type ChangedRules, type Layer, LayeredBook, type RuleChange } from '../../core/layered-book.ts'
import { formatLimit } from '../../core/limit.ts'
import type { Rule } from '../../core/rule-book.ts'
import { shardKey } from './keys.ts'
import { bookReply, parseReply, retimeReply, staleReply } from './replies.ts'
import {
  changeBook,
  firstBook,
  formatBook,
  isFormer,
  parseBook,
  rebase,
  type StoredBook,
} from './rule-book-text.ts'
import type { Store } from './store.ts'

const NEWER = { code: 'newer code', file: 'a newer file' } as const
const MOST_TRIES = 20
const MOST_RETIMED = 200

/**
 * The rule book that all processes share. The first shard has the authority; each further one has a copy, so that a
 * script reads it in the same step. A verb says which version its rule is from, and is refused when that is not the
 * shard's: then either side learns from the other, whichever is older.
 *
 * What code or a file says is brought in two ways. A process that opens brings the layer it was started with, which is
 * refused if it was replaced before. A load at run time is what somebody says now, so it always wins; the last one
 * stays. Nobody repeats a load by itself, and one that says what its layer says already changes nothing: so processes
 * that all follow one file end with the same book, as soon as each of them has loaded what the file said last.
 */
export class SharedRules {
  readonly #store: Store
  readonly #brought: Layer
  #stored: StoredBook | undefined
  #book: LayeredBook

  /** @param brought what this process was started with */
  constructor(store: Store, brought: Layer) {
    this.#store = store
    this.#brought = brought
    this.#book = LayeredBook.of(brought)
  }

  get version(): number {
    return this.#stored?.version ?? 0
  }

  get book(): LayeredBook {
    return this.#book
  }

  /**
   * Fetches the book, or brings the first one. Limits that this code, or this file, brings replace those of an older one;
   * where it brings none, nothing is replaced.
   *
   * @throws OldRuleBookError when a newer one was here before: its limits are in force, here as well
   */
  async open(now?: number): Promise<void> {
    const brought = this.#brought
    // Who says nothing of limits, such as a worker, does not say that there are none.
    const isSilent = brought.rules.length === 0
    await this.#update((stored) => {
      if (stored === undefined) return firstBook(brought)
      return isSilent ? undefined : rebase(stored, brought)
    }, now)
    if (this.#stored !== undefined && !isSilent && isFormer(this.#stored, brought)) {
      throw new OldRuleBookError(
        `the limits that this process brings were replaced before by those of ${NEWER[brought.origin]}: version ${this.version} ` +
          'of the rule book stays in force; to go back to them, load them with limits.load',
      )
    }
  }

  async refresh(): Promise<void> {
    const text = await this.#store.text(shardKey(this.#store.tags[0]!, 'book'))
    if (text !== undefined) this.#adopt(parseBook(text))
  }

  /** Looks whether somebody has a newer book; if so, whether every shard has it, for he may have died on the way. */
  async follow(): Promise<void> {
    if (!(await this.#look(0))) return
    for (let shard = 1; shard < this.#store.tags.length; shard++) await this.#look(shard)
  }

  async change(change: RuleChange, now?: number): Promise<ChangedRules> {
    const saidAt = now ?? (await this.#store.storeTime(0))
    return this.#update((stored) => changeBook(stored ?? firstBook(this.#brought), change, saidAt), now)
  }

  /** A shard has another version than this process: the older of the two is brought up to date. */
  async settle(shard: number, theirs: number): Promise<void> {
    if (theirs > this.version) await this.refresh()
    else if (this.#stored !== undefined) await this.#write(shard, this.#stored)
  }

  /** Whoever changed the book has not held all buckets of the shard to it, and may be gone. */
  async retime(shard: number, version: number): Promise<void> {
    if (this.version !== version) await this.settle(shard, version)
    await this.#retime(shard)
  }

  /** Whether the shard had another version. */
  async #look(shard: number): Promise<boolean> {
    const theirs = Number((await this.#store.field(shardKey(this.#store.tags[shard]!, 'meta'), 'book')) ?? 0)
    if (theirs === this.version) return false
    await this.settle(shard, theirs)
    return true
  }

  /** Writes what `next` makes of the newest book, here and in every shard; undefined: nothing is to be changed. */
  async #update(
    next: (stored: StoredBook | undefined) => StoredBook | undefined,
    now?: number,
  ): Promise<ChangedRules> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await this.refresh()
      const before = this.#book
      const book = next(this.#stored)
      if (book === undefined) {
        return { at: now ?? (await this.#store.storeTime(0)), isChanged: false, before, after: before }
      }
      const at = await this.#write(0, book, now)
      if (at === undefined) continue
      const after = new LayeredBook(book.layers)
      // Somebody may have gone on from ours meanwhile, and this process have heard of it.
      if (book.version > this.version) this.#adopt(book, after)
      for (let shard = 1; shard < this.#store.tags.length; shard++) await this.#write(shard, book, now)
      for (let shard = 0; shard < this.#store.tags.length; shard++) await this.#retime(shard)
      return { at, isChanged: true, before, after }
    }
    throw new BackendUnavailableError(`the rule book was changed by others ${MOST_TRIES} times in a row`)
  }

  /** Undefined: the shard has a newer one. */
  async #write(shard: number, book: StoredBook, now?: number): Promise<number | undefined> {
    const reply = parseReply(
      bookReply,
      await this.#store.write('book', shard, [book.version, formatBook(book)], now),
    )
    return reply[0] === 'ok' ? reply[1] : undefined
  }

  /** Holds every live bucket to its rule. Buckets that come meanwhile are made under the new book. */
  async #retime(shard: number): Promise<void> {
    let cursor = '0'
    do {
      const [, next, ...keys] = parseReply(staleReply, await this.#store.run('stale', shard, [cursor]))
      const rules = keys.flatMap((key) => {
        const rule = this.#book.find(key)
        return rule === undefined ? [] : [[key, ...ruleValues(rule)]]
      })
      for (let from = 0; from === 0 || from < rules.length; from += MOST_RETIMED) {
        const some = rules.slice(from, from + MOST_RETIMED)
        const isLast = next === '0' && from + MOST_RETIMED >= rules.length
        if (some.length === 0 && !isLast) break
        const values = [this.version, isLast ? '1' : '0', some.length, ...some.flat()]
        const reply = parseReply(retimeReply, await this.#store.run('retime', shard, values))
        // Somebody changed the book again, and goes through the buckets in our place.
        if (reply[0] !== 'ok') return
      }
      cursor = next
    } while (cursor !== '0')
  }

  #adopt(stored: StoredBook, book?: LayeredBook): void {
    if (stored.version === this.version) return
    this.#book = book ?? new LayeredBook(stored.layers)
    this.#stored = stored
  }
}

/** What a verb passes along about the rule of a key; nothing where no rule governs it. */
export function ruleValues(rule: Rule | undefined): (string | number)[] {
  if (rule === undefined) return ['', 0, 0, 0, 0, 0, '']
  const { pattern, limit } = rule
  const { capacity, interval, tolerance, warmUp, coldInterval } = limit
  return [pattern, capacity, interval, tolerance, warmUp, coldInterval, formatLimit(limit)]
}

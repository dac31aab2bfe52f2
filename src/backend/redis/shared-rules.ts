import { BackendUnavailableError, OldRuleBookError } from '../../core/errors.ts'
import { formatLimit } from '../../core/limit.ts'
import type { Rule, RuleBook } from '../../core/rule-book.ts'
import { shardKey } from './keys.ts'
import { bookReply, listReply, parseReply, retimeReply } from './replies.ts'
import {
  change,
  compile,
  firstBook,
  isFormer,
  parseBook,
  rebase,
  type StoredBook,
  textOf,
} from './rule-book-text.ts'
import type { Store } from './store.ts'

const MOST_TRIES = 20
const MOST_RETIMED = 200

/**
 * The rule book that all processes share. The first shard has the authority; each further one has a copy, so that a
 * script reads it in the same step. A verb says which version its rule is from, and is refused when that is not the
 * shard's: then either side learns from the other, whichever is older.
 */
export class SharedRules {
  readonly #store: Store
  readonly #code: StoredBook['base']
  #stored: StoredBook | undefined
  #book: RuleBook

  /** @param code the limits that this process brings */
  constructor(store: Store, code: RuleBook) {
    this.#store = store
    this.#code = textOf(code)
    this.#book = code
  }

  get version(): number {
    return this.#stored?.version ?? 0
  }

  get book(): RuleBook {
    return this.#book
  }

  /**
   * Fetches the book, or brings the first one. Limits that this code brings replace those of older code.
   *
   * @throws OldRuleBookError when newer code was here before: its limits are in force, here as well
   */
  async open(now?: number): Promise<void> {
    await this.#update(
      (stored) => (stored === undefined ? firstBook(this.#code) : rebase(stored, this.#code)),
      now,
    )
    if (this.#stored !== undefined && isFormer(this.#stored, this.#code)) {
      throw new OldRuleBookError(
        `the limits that this process brings were replaced before by newer code: version ${this.version} of the rule ` +
          'book stays in force; to go back to them, set them with limits.set',
      )
    }
  }

  async refresh(): Promise<void> {
    const text = await this.#store.text(shardKey(this.#store.tags[0]!, 'book'))
    if (text !== undefined) this.#adopt(parseBook(text))
  }

  async set({ pattern, limit }: Rule, now?: number): Promise<number> {
    return this.#update((stored) => change(this.#orFirst(stored), pattern, formatLimit(limit)), now)
  }

  async unset(pattern: string, now?: number): Promise<{ readonly at: number; readonly existed: boolean }> {
    let existed = false
    const at = await this.#update((stored) => {
      const book = this.#orFirst(stored)
      existed = book.rules.some(([known]) => known === pattern)
      return existed ? change(book, pattern, undefined) : undefined
    }, now)
    return { at, existed }
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

  /** Writes what `next` makes of the newest book, here and in every shard; undefined: nothing is to be changed. */
  async #update(
    next: (stored: StoredBook | undefined) => StoredBook | undefined,
    now?: number,
  ): Promise<number> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await this.refresh()
      const book = next(this.#stored)
      if (book === undefined) return this.#store.storeTime(0)
      const at = await this.#write(0, book, now)
      if (at === undefined) continue
      this.#adopt(book)
      for (let shard = 1; shard < this.#store.tags.length; shard++) await this.#write(shard, book, now)
      for (let shard = 0; shard < this.#store.tags.length; shard++) await this.#retime(shard)
      return at
    }
    throw new BackendUnavailableError(`the rule book was changed by others ${MOST_TRIES} times in a row`)
  }

  /** Undefined: the shard has a newer one. */
  async #write(shard: number, book: StoredBook, now?: number): Promise<number | undefined> {
    const reply = parseReply(
      bookReply,
      await this.#store.write('book', shard, [book.version, JSON.stringify(book)], now),
    )
    return reply[0] === 'ok' ? reply[1] : undefined
  }

  /** Holds every live bucket to its rule. Buckets that come meanwhile are made under the new book. */
  async #retime(shard: number): Promise<void> {
    let cursor = '0'
    do {
      const [, next, ...views] = parseReply(listReply, await this.#store.read('list', shard, [cursor, '']))
      const rules = views.flatMap(([key]) => {
        const rule = this.#book.find(key)
        return rule === undefined ? [] : [[key, ...ruleValues(rule)]]
      })
      for (let from = 0; from === 0 || from < rules.length; from += MOST_RETIMED) {
        const some = rules.slice(from, from + MOST_RETIMED)
        const isLast = next === '0' && from + MOST_RETIMED >= rules.length
        const values = [this.version, isLast ? '1' : '0', some.length, ...some.flat()]
        const reply = parseReply(retimeReply, await this.#store.run('retime', shard, values))
        // Somebody changed the book again, and goes through the buckets in our place.
        if (reply[0] !== 'ok') return
      }
      cursor = next
    } while (cursor !== '0')
  }

  #orFirst(stored: StoredBook | undefined): StoredBook {
    return stored ?? firstBook(this.#code)
  }

  #adopt(book: StoredBook): void {
    if (book.version === this.version) return
    this.#book = compile(book)
    this.#stored = book
  }
}

/** What a verb passes along about the rule of a key; nothing where no rule governs it. */
export function ruleValues(rule: Rule | undefined): (string | number)[] {
  if (rule === undefined) return ['', 0, 0, 0, '']
  const { pattern, limit } = rule
  return [pattern, limit.capacity, limit.interval, limit.tolerance, formatLimit(limit)]
}

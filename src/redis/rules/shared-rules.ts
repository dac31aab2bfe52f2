import { randomBytes } from 'node:crypto'
import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { BackendUnavailableError, OldRuleBookError } from '../../core/errors.ts'
import { type ChangedRules, type Layer, LayeredBook, type RuleChange } from '../../core/layered-book.ts'
import { formatLimit } from '../../core/limit.ts'
import type { Rule } from '../../core/rule-book.ts'
import { shardKey } from '../scripts/keys.ts'
import { bookReply, inGroups, retimeReply, staleReply } from '../scripts/replies.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { OwnLayers } from './own-layers.ts'
import {
  changeBook,
  firstBook,
  formatBook,
  noteChange,
  parseBook,
  type ReplacedLayer,
  rebase,
  replacedLayers,
  type StoredBook,
  start,
} from './rule-book-text.ts'
import { digestOfBook, parseMark, type ShardMark } from './shard-marks.ts'

/** Writes the book, or is refused where the shard has a newer one. */
export const bookScript = defineScript('book', import.meta.url, bookReply)
const staleScript = defineScript('stale', import.meta.url, staleReply)
const retimeScript = defineScript('retime', import.meta.url, retimeReply)

const NEWER = { code: 'newer code', file: 'a newer file', environment: 'a newer environment' } as const
const MOST_TRIES = 20
const MOST_RETIMED = 100

/**
 * The rule book that all processes share. The first shard has the authority; each further one has a copy, so that a
 * script reads it in the same step. A verb says which version its rule is from, and is refused when that is not the
 * shard's: then either side learns from the other, whichever is older.
 *
 * A change goes from one version to the next and to no other: whoever was overtaken reads the newer book and thinks anew,
 * and then finds himself in conflict if he meant one version only.
 *
 * What a layer says is brought in two ways: by the start of a process, which brings the layers it was started with, and by
 * a load at run time. The last one wins, also with limits that were replaced before: a deployment that is rolled back starts
 * the old program again, and means it. Nobody repeats a load or a start by itself, and one that says what its layer says
 * already changes nothing. So processes that run side by side do not undo each other's limits, and the book changes at most
 * once for each start. A process whose layer was replaced is told, and leaves it at that, also when it connects again.
 */
export class SharedRules {
  readonly #store: Store
  readonly #own: OwnLayers
  readonly #onLost: (shard: number, now: number | undefined) => Promise<void>
  /** What each shard was found to be last. */
  readonly #marks: (ShardMark | undefined)[] = []
  /** A name for a shard that has none yet. */
  readonly #newName = randomBytes(6).toString('base64url')
  #stored: StoredBook | undefined
  #digest = ''
  #isStarted = false
  #book: LayeredBook

  /**
   * @param brought what this process was started with
   * @param onLost a shard lost all that it held, and others have begun to fill it again
   */
  constructor(
    store: Store,
    brought: Layer | readonly Layer[],
    onLost: (shard: number, now: number | undefined) => Promise<void>,
  ) {
    this.#store = store
    this.#onLost = onLost
    this.#own = new OwnLayers([brought].flat())
    this.#book = LayeredBook.of(brought)
  }

  get version(): number {
    return this.#stored?.version ?? 0
  }

  get book(): LayeredBook {
    return this.#book
  }

  /**
   * Fetches the book, or brings the first one. The limits that this process was started with replace others at its first
   * opening; later on, when another store may be behind the same address, only those that were never replaced. Answers whose
   * layers this start has replaced.
   *
   * @throws OldRuleBookError when limits of this process were replaced since it started
   */
  async open(now?: number): Promise<ReplacedLayer[]> {
    const at = now ?? (await this.#store.storeTime(0))
    if (!this.#isStarted) return this.#start(at, now)
    await this.#update(
      (stored) => (stored === undefined ? firstBook(this.#own.all, at) : rebase(stored, this.#own.kept, at)),
      now,
    )
    const [former] = this.#stored === undefined ? [] : this.#own.former(this.#stored)
    if (former !== undefined) throw this.#oldBook(former, 'brings were replaced before')
    return []
  }

  async #start(at: number, now?: number): Promise<ReplacedLayer[]> {
    let replaced: ReplacedLayer[] = []
    await this.#update((stored) => {
      replaced = []
      if (stored === undefined) return firstBook(this.#own.all, at)
      const started = start(stored, this.#own.all, at)
      if (started !== undefined) replaced = replacedLayers(stored, started)
      return started
    }, now)
    this.#isStarted = true
    return replaced
  }

  /** As the shard was found last. */
  nameOf(shard: number): string | undefined {
    return this.#marks[shard]?.name
  }

  async refresh(): Promise<void> {
    const text = await this.#store.text(shardKey(this.#store.tags[0]!, 'book'))
    if (text !== undefined) this.#adopt(parseBook(text), digestOfBook(text))
  }

  /**
   * Looks whether every shard has the book of this process; it may be older, a failover may have lost it, or its writer
   * died before all had it. Answers what has become of layers of this process, once.
   */
  async follow(now = monotonicNow()): Promise<OldRuleBookError[]> {
    for (let shard = 0; shard < this.#store.tags.length; shard++) await this.#look(shard)
    if (this.#stored === undefined) return []
    return this.#own.replaced(this.#stored, now).map((layer) => this.#oldBook(layer, 'brought were replaced'))
  }

  /** @throws RuleBookConflictError */
  async change(change: RuleChange, now?: number): Promise<ChangedRules> {
    const at = now ?? (await this.#store.storeTime(0))
    const next = (stored = firstBook(this.#own.all, at)) => changeBook(stored, change, at)
    const changed = await this.#update(next, now)
    if (change.kind === 'load') this.#own.bring(change)
    return changed
  }

  /**
   * A shard has another book than this process: the older of the two is brought up to date. Where that of the first shard
   * is none of the newest, since a failover lost it, it becomes the newest again.
   */
  async settle(shard: number, theirs: number, digest?: string): Promise<void> {
    if (theirs >= this.version) await this.refresh()
    const isDivided = theirs === this.version && digest !== undefined && digest !== this.#digest
    if (theirs > this.version || isDivided) {
      await this.#update((stored) => stored && { ...stored, version: Math.max(stored.version, theirs) + 1 })
    } else if (theirs < this.version && this.#stored !== undefined) await this.#write(shard, this.#stored)
  }

  /** Whoever changed the book has not held all buckets of the shard to it, and may be gone. */
  async retime(shard: number, version: number): Promise<void> {
    if (this.version !== version) await this.settle(shard, version)
    await this.#retime(shard)
  }

  async #look(shard: number): Promise<void> {
    const known = this.#marks[shard]
    const found = parseMark(await this.#field(shard, 'mark'))
    if (known !== undefined && found !== undefined && found.name !== known.name) {
      await this.#onLost(shard, undefined)
    }
    if (found !== undefined) this.#marks[shard] = found
    if (found?.version === this.version && found.digest === this.#digest) return
    await this.settle(shard, found?.version ?? Number((await this.#field(shard, 'book')) ?? 0), found?.digest)
  }

  #field(shard: number, field: 'book' | 'mark'): Promise<string | undefined> {
    return this.#store.field(shardKey(this.#store.tags[shard]!, 'meta'), field)
  }

  /** Writes what `next` makes of the newest book, here and in every shard; undefined: nothing is to be changed. */
  async #update(
    next: (stored: StoredBook | undefined) => StoredBook | undefined,
    now?: number,
  ): Promise<ChangedRules> {
    const id = randomBytes(6).toString('base64url')
    let written: ChangedRules | undefined
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await this.refresh()
      // The answer was lost, and when it was asked for again others had gone on from ours.
      if (written !== undefined && this.#stored?.changes.includes(id)) return written
      const before = this.#book
      const changed = next(this.#stored)
      if (changed === undefined) {
        return { at: now ?? (await this.#store.storeTime(0)), isChanged: false, before, after: before }
      }
      const book = noteChange(changed, id)
      const after = new LayeredBook(book.layers, book.version)
      written = { at: now ?? (await this.#store.storeTime(0)), isChanged: true, before, after }
      const at = await this.#write(0, book, now)
      if (at === undefined) continue
      // Somebody may have gone on from ours meanwhile, and this process have heard of it.
      if (book.version > this.version) this.#adopt(book, digestOfBook(formatBook(book)), after)
      for (let shard = 1; shard < this.#store.tags.length; shard++) await this.#write(shard, book, now)
      for (let shard = 0; shard < this.#store.tags.length; shard++) await this.#retime(shard)
      return { ...written, at }
    }
    throw new BackendUnavailableError(`the rule book was changed by others ${MOST_TRIES} times in a row`)
  }

  /** Undefined: the shard has a newer one. */
  async #write(shard: number, book: StoredBook, now?: number): Promise<number | undefined> {
    const text = formatBook(book)
    const hasSeen = this.#marks[shard] !== undefined ? '1' : '0'
    const values = [book.version, text, digestOfBook(text), this.#newName, hasSeen, this.#store.tags.length]
    const reply = await this.#store.write(bookScript, shard, values, now)
    if (reply[0] !== 'ok') return undefined
    this.#marks[shard] = parseMark(reply[3])
    return reply[1]
  }

  /** Holds every live bucket to its rule, those first that are about to depart. Buckets that come meanwhile are made under the new book. */
  async #retime(shard: number): Promise<void> {
    if (await this.#retimeSome(shard, 'due')) await this.#retimeSome(shard, 'all')
  }

  /** False: somebody changed the book again, and goes through the buckets in our place. */
  async #retimeSome(shard: number, which: 'due' | 'all'): Promise<boolean> {
    let cursor = '0'
    do {
      const reply = await this.#store.run(staleScript, shard, [which, cursor])
      const [, next, ...stale] = reply
      const rules = inGroups(stale, 3).flatMap(([key, pattern, limit]) => {
        const rule = this.#book.find(key!)
        // One whose rule says what it said learns the version when it is written next.
        if (rule === undefined || (rule.pattern === pattern && formatLimit(rule.limit) === limit)) return []
        return [[key!, ...ruleValues(rule)]]
      })
      const isLast = which === 'all' && next === '0'
      if (!(await this.#hold(shard, rules, isLast))) return false
      cursor = next
    } while (cursor !== '0')
    return true
  }

  async #hold(shard: number, rules: readonly (string | number)[][], isLast: boolean): Promise<boolean> {
    for (let from = 0; from < rules.length || (isLast && from === 0); from += MOST_RETIMED) {
      const some = rules.slice(from, from + MOST_RETIMED)
      const isEnd = isLast && from + MOST_RETIMED >= rules.length
      const values = [this.version, isEnd ? '1' : '0', some.length, ...some.flat()]
      const reply = await this.#store.run(retimeScript, shard, values)
      if (reply[0] !== 'ok') return false
    }
    return true
  }

  #adopt(stored: StoredBook, digest: string, book?: LayeredBook): void {
    if (stored.version === this.version && digest === this.#digest) return
    this.#digest = digest
    this.#book = book ?? new LayeredBook(stored.layers, stored.version)
    this.#stored = stored
  }

  #oldBook({ origin }: Layer, what: string): OldRuleBookError {
    const { by, at } = this.#stored?.brought[origin] ?? {}
    const when = at === undefined ? [] : [new Date(at / MILLISECOND).toISOString()]
    const author = by === undefined ? when : [by, ...when]
    const whose = `those of ${NEWER[origin]}${author.length > 0 ? ` (${author.join(', ')})` : ''}`
    return new OldRuleBookError(
      `the limits that this process ${what} by ${whose}: version ${this.version} of the rule book is in force; ` +
        'to go back to them, load them with limits.load',
    )
  }
}

/** What a verb passes along about the rule of a key; nothing where no rule governs it. */
export function ruleValues(rule: Rule | undefined): (string | number)[] {
  if (rule === undefined) return ['', 0, 0, 0, 0, 0, '']
  const { pattern, limit } = rule
  const { capacity, interval, tolerance, warmUp, coldInterval } = limit
  return [pattern, capacity, interval, tolerance, warmUp, coldInterval, formatLimit(limit)]
}

import { randomBytes } from 'node:crypto'
import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { BackendUnavailableError, OldRuleBookError } from '../../core/errors.ts'
import { type ChangedRules, type Layer, LayeredBook, type RuleChange } from '../../core/layered-book.ts'
import { shardKey } from '../scripts/keys.ts'
import type { Store } from '../scripts/store.ts'
import { digestOfBook, parseMark, type ShardMark, writeBook } from './book.ts'
import { OwnLayers } from './own-layers.ts'
import { retimeBuckets } from './retime.ts'
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
} from './stored-book.ts'

const NEWER = { code: 'newer code', file: 'a newer file', environment: 'a newer environment' } as const
/** The rule book may change all the time; that must not keep others out for ever. */
const MOST_TRIES = 20

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
export class RedisRules {
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
  #isSettling = false
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

  /**
   * Makes a call that a shard may refuse because it has another rule book: then the older of the two is brought up to date,
   * and the call is made again.
   */
  async agreed<Reply extends { readonly kind: string }>(
    shard: number,
    call: () => Promise<Reply | OldBook>,
  ): Promise<Exclude<Reply, OldBook>> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const reply = await call()
      if (!isOldBook(reply)) return reply as Exclude<Reply, OldBook>
      await this.settle(shard, reply.version)
    }
    throw unsettled()
  }

  /**
   * Learns which version a shard has, and to which all its buckets are held, from a verb that carries no rule. What is to
   * be done about it is done in the background; what fails is tried again at the next verb.
   */
  noteVersion(shard: number, version: number, retimed: number): void {
    if (this.#isSettling || (version === this.version && retimed === version)) return
    this.#isSettling = true
    const settling = retimed === version ? this.settle(shard, version) : this.retime(shard, version)
    settling
      .catch(() => undefined)
      .finally(() => {
        this.#isSettling = false
      })
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
    throw unsettled()
  }

  /** Undefined: the shard has a newer one. */
  async #write(shard: number, book: StoredBook, now?: number): Promise<number | undefined> {
    const known = { name: this.#newName, hasSeen: this.#marks[shard] !== undefined }
    const written = await writeBook(this.#store, shard, book, known, now)
    if (written === undefined) return undefined
    this.#marks[shard] = written.mark
    return written.at
  }

  #retime(shard: number): Promise<void> {
    return retimeBuckets(this.#store, shard, () => this.#book)
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

interface OldBook {
  readonly kind: 'old-book'
  readonly version: number
}

function isOldBook(reply: { readonly kind: string }): reply is OldBook {
  return reply.kind === 'old-book'
}

function unsettled(): BackendUnavailableError {
  return new BackendUnavailableError(`the rule book was changed by others ${MOST_TRIES} times in a row`)
}

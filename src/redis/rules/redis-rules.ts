import { randomBytes } from 'node:crypto'
import { monotonicNow } from '../../core/clock.ts'
import { type ChangedRules, LayeredBook } from '../../core/layered-book.ts'
import type { OldRuleBookError, UnknownZoneError } from '../../core/rule-errors.ts'
import type { Layer, RuleChange } from '../../core/rule-layers.ts'
import type { FullMemory } from '../connection/full-memory.ts'
import { shardKey } from '../scripts/keys.ts'
import type { Store } from '../scripts/store.ts'
import { MOST_TRIES, unsettled } from './agreed.ts'
import { knownBook, parseMark, type ShardMark, writtenBook } from './book.ts'
import { type KnownBook, readBook } from './book-pages.ts'
import { OwnLayers, replacedError } from './own-layers.ts'
import { RuledBuckets } from './ruled-buckets.ts'
import { type OnLost, ShardMarks } from './shard-marks.ts'
import {
  addNewLayers,
  changeBook,
  firstBook,
  noteChange,
  parseBook,
  type ReplacedLayer,
  replacedLayers,
  type StoredBook,
  setLayers,
} from './stored-book.ts'
import { UnknownZones } from './unknown-zones.ts'

/**
 * The rule book that all processes share. The first shard is authoritative; every other shard has a copy, so that a script
 * can read it in the same step. A verb sends the version of its rule, and is refused if the shard has another version; then
 * the older of the two is updated, and the verb runs again.
 *
 * A change leads from one version to the next. If another process changes the book first, the change is computed again from
 * the newer book; a change that requires a certain version (`ifVersion`) then fails with a conflict.
 *
 * A layer is set in two ways: a process that starts sets its own layers, and `limits.load` sets one at run time. The last
 * write wins, even with limits that were replaced before, so that a rollback to an old program takes effect. No process
 * repeats a start or a load by itself, and setting a layer to its present value changes nothing. So processes that run side
 * by side do not undo each other's limits, and the book changes at most once per start. A process whose layer was replaced
 * reports it and does not restore the layer, not even when it reconnects.
 */
export class RedisRules {
  /** They follow the book. */
  readonly buckets: RuledBuckets
  readonly #store: Store
  readonly #own: OwnLayers
  readonly #zones = new UnknownZones()
  readonly #memory: Pick<FullMemory, 'assertRoom'>
  readonly #marks: ShardMarks
  #stored: StoredBook | undefined
  #known: KnownBook | undefined
  #isStarted = false
  #book: LayeredBook

  /** @param layers those that this process was started with */
  constructor(
    store: Store,
    layers: Layer | readonly Layer[],
    memory: Pick<FullMemory, 'assertRoom'>,
    onLost: OnLost,
  ) {
    this.buckets = new RuledBuckets(store, this)
    this.#store = store
    this.#marks = new ShardMarks(store, onLost)
    this.#memory = memory
    this.#own = new OwnLayers([layers].flat())
    this.#book = LayeredBook.of(layers)
  }

  get version(): number {
    return this.#stored?.version ?? 0
  }

  get book(): LayeredBook {
    return this.#book
  }

  /**
   * Fetches the book, or writes the first one. When the line is opened for the first time, the layers of this process replace
   * those in the book. When it is opened again (another store may then have the same address), only layers that were never
   * replaced are set. Returns the layers of other processes that the first opening replaced.
   *
   * @throws OldRuleBookError when limits of this process were replaced since it started
   */
  async open(now?: number): Promise<ReplacedLayer[]> {
    const at = now ?? (await this.#store.storeTime(0))
    // Before the book: what is lost after this is noticed as a loss, also before the first `follow`.
    await this.#marks.learn()
    const replaced = this.#isStarted ? await this.#reopen(at, now) : await this.#start(at, now)
    await this.#marks.learn()
    return replaced
  }

  async #reopen(at: number, now?: number): Promise<ReplacedLayer[]> {
    await this.#update(
      (stored) =>
        stored === undefined ? firstBook(this.#own.all, at) : addNewLayers(stored, this.#own.kept, at),
      now,
    )
    const stored = this.#stored
    const [former] = stored === undefined ? [] : this.#own.former(stored)
    if (stored !== undefined && former !== undefined) throw replacedError(stored, former)
    return []
  }

  async #start(at: number, now?: number): Promise<ReplacedLayer[]> {
    let replaced: ReplacedLayer[] = []
    await this.#update((stored) => {
      replaced = []
      if (stored === undefined) return firstBook(this.#own.all, at)
      const started = setLayers(stored, this.#own.all, at)
      if (started !== undefined) replaced = replacedLayers(stored, started)
      return started
    }, now)
    this.#isStarted = true
    return replaced
  }

  /** The name of the shard as it was last read. */
  nameOf(shard: number): string | undefined {
    return this.#marks.get(shard)?.name
  }

  /** Fetches the book, unless this process has it. */
  async refresh(): Promise<void> {
    const text = await readBook(this.#store, this.#known)
    if (text === undefined) return
    const stored = parseBook(text)
    this.#adopt(stored, knownBook(stored.version, text))
  }

  /**
   * Compares the book of every shard with that of this process, and updates the older one. They differ after a change by
   * another process, after a failover that lost a change, or when a process died before it had written all shards. Returns an
   * error for each layer of this process that was replaced, and for each time zone that this process does not know, once.
   *
   * @param first the mark of the first shard, as it was just read
   */
  async follow(
    first: string | undefined,
    now = monotonicNow(),
  ): Promise<(OldRuleBookError | UnknownZoneError)[]> {
    await this.#compare(0, parseMark(first))
    let comparing = Promise.resolve()
    await this.#store.everywhere(async (shard) => {
      if (shard === 0) return
      const mark = await this.#marks.read(shard)
      // One after the other: those that differ need the same newer book, which the first of them fetches.
      const before = comparing.catch(() => undefined)
      comparing = before.then(() => this.#compare(shard, mark))
      await comparing
    })
    const stored = this.#stored
    if (stored === undefined) return []
    const replaced = this.#own.replaced(stored, now).map((layer) => replacedError(stored, layer))
    return [...replaced, ...this.#zones.follow(this.#book)]
  }

  /** @throws RuleBookConflictError, TooManyRulesError; BackendUnavailableError also for a new rule while memory is short */
  async change(change: RuleChange, now?: number): Promise<ChangedRules> {
    if (change.kind === 'set' && this.#book.get(change.rule.pattern) === undefined) {
      this.#memory.assertRoom('no rule is added')
    }
    const at = now ?? (await this.#store.storeTime(0))
    const next = (stored = firstBook(this.#own.all, at)) => changeBook(stored, change, at)
    const changed = await this.#update(next, now, change)
    if (change.kind === 'load') this.#own.set(change)
    return changed
  }

  /**
   * Updates the older book, that of the shard or that of this process. If the first shard lost the newest book in a failover,
   * its book becomes the newest again, under a higher version.
   */
  async settle(shard: number, theirs: number, digest?: string): Promise<void> {
    if (theirs >= this.version) await this.refresh()
    const isDivided = theirs === this.version && digest !== undefined && digest !== this.#known?.digest
    if (theirs > this.version || isDivided) {
      await this.#update((stored) => stored && { ...stored, version: Math.max(stored.version, theirs) + 1 })
    } else if (theirs < this.version && this.#stored !== undefined)
      await this.#marks.write(shard, writtenBook(this.#stored))
  }

  async #compare(shard: number, found: ShardMark | undefined): Promise<void> {
    if (found !== undefined) await this.#marks.keep(shard, found)
    if (found?.version === this.version && found.digest === this.#known?.digest) return
    const version =
      found?.version ?? (await this.#store.field(shardKey(this.#store.tags[shard]!, 'meta'), 'book')) ?? 0
    await this.settle(shard, Number(version), found?.digest)
  }

  /** Applies `next` to the newest book and writes the result to every shard. `next` returns undefined to change nothing; it makes `change`, if one is given. */
  async #update(
    next: (stored: StoredBook | undefined) => StoredBook | undefined,
    now?: number,
    change?: RuleChange,
  ): Promise<ChangedRules> {
    const id = randomBytes(6).toString('base64url')
    let written: ChangedRules | undefined
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await this.refresh()
      // The reply was lost, and other processes have changed the book since ours was written.
      if (written !== undefined && this.#stored?.changes.includes(id)) return written
      const before = this.#book
      const changed = next(this.#stored)
      if (changed === undefined) {
        return { at: now ?? (await this.#store.storeTime(0)), isChanged: false, before, after: before }
      }
      const book = noteChange(changed, id)
      const after =
        change === undefined || this.#stored === undefined
          ? new LayeredBook(book.layers, book.version)
          : before.following(book.layers, book.version, change)
      written = { at: now ?? (await this.#store.storeTime(0)), isChanged: true, before, after }
      const text = writtenBook(book)
      const at = await this.#marks.write(0, text, now)
      if (at === undefined) continue
      // Another process may have changed it meanwhile, and this process may already have the newer book.
      if (book.version > this.version) this.#adopt(book, text, after)
      await this.#store.everywhere(async (shard) => {
        if (shard > 0) await this.#marks.write(shard, text, now)
      })
      await this.buckets.retime(now)
      return { ...written, at }
    }
    throw unsettled()
  }

  #adopt(stored: StoredBook, { version, digest, bytes }: KnownBook, book?: LayeredBook): void {
    if (version === this.version && digest === this.#known?.digest) return
    this.#known = { version, digest, bytes }
    this.#book = book ?? new LayeredBook(stored.layers, stored.version)
    this.#stored = stored
  }
}

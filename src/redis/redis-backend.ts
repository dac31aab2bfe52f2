import type { Durability } from '../core/bucket-view.ts'
import { monotonicNow } from '../core/clock.ts'
import type { ShardCountError } from '../core/errors.ts'
import type { OldRuleBookError, UnknownZoneError } from '../core/rule-errors.ts'
import type { Layer } from '../core/rule-layers.ts'
import type { Retention } from '../line/options.ts'
import type { Connection } from './connection/connection.ts'
import { FullMemory } from './connection/full-memory.ts'
import { KnownZones } from './rules/known-zones.ts'
import { Layout } from './rules/layout.ts'
import { RedisRules } from './rules/redis-rules.ts'
import type { ReplacedLayer } from './rules/stored-book.ts'
import { shardKey, shardTags } from './scripts/keys.ts'
import { Store } from './scripts/store.ts'
import { Inboxes } from './transport/inboxes.ts'
import { Wakes } from './transport/wakes.ts'
import { keepText } from './verbs/settings-text.ts'
import { openVerbs, type Verbs } from './verbs/verbs.ts'

export interface RedisBackendOptions {
  readonly name: string
  readonly prefix: string
  readonly shards: number
  readonly connection: Connection
  /** The layers of rules that this process was started with. */
  readonly rules: Layer | readonly Layer[]
  readonly retention: Retention
}

/** The parts of a line that many processes share, in Redis: one script for each verb, and the clock of Redis for all of them. */
export class RedisBackend {
  /** What Redis keeps when it dies, as its owner found out. */
  durability: Durability = 'none'
  readonly store: Store
  readonly rules: RedisRules
  readonly verbs: Verbs
  /** Markers for schedulers, and the turns that were handed over to callers of this process. */
  readonly wakes: Wakes
  readonly inboxes: Inboxes
  readonly #layout: Layout
  readonly #zones: KnownZones
  readonly #memory: FullMemory

  constructor({ name, prefix, shards, connection, rules, retention }: RedisBackendOptions) {
    const storeOf = (count: number) => new Store(connection, shardTags(prefix, name, count), name)
    const store = storeOf(shards)
    this.store = store
    this.#memory = new FullMemory(() => connection.commands)
    const onLost = (shard: number, now: number | undefined) => this.verbs.quarantine(shard, now, 'loss')
    this.rules = new RedisRules(store, rules, this.#memory, onLost)
    this.#layout = new Layout(store, storeOf)
    this.#zones = new KnownZones(store)
    this.verbs = openVerbs({
      store,
      rules: this.rules,
      memory: this.#memory,
      keep: keepText(retention),
    })
    this.wakes = new Wakes(connection, store.tags)
    this.inboxes = new Inboxes(connection, store.tags)
  }

  /**
   * Fetches the rule book, with the limits of this process if it is its first opening; answers which others they replaced.
   *
   * @throws OldRuleBookError, after which all the same it can be used; ShardCountError
   */
  async open(now?: number): Promise<ReplacedLayer[]> {
    await this.#memory.ask()
    await this.#layout.agree(now)
    return this.rules.open(now)
  }

  /** Learns what other processes have changed. Returns what the user of this one has to hear of that, once. */
  async follow(now?: number): Promise<(OldRuleBookError | ShardCountError | UnknownZoneError)[]> {
    // One request for both: each process makes it twice a second.
    const [mark, shards] = await this.store.fields(shardKey(this.store.tags[0]!, 'meta'), 'mark', 'shards')
    const errors = [...this.#layout.follow(shards), ...(await this.rules.follow(mark, now))]
    // What the user has to hear must not be lost; a script that lacks a zone says so itself.
    await this.#zones.follow(this.rules.book, now ?? monotonicNow()).catch(() => undefined)
    return errors
  }
}

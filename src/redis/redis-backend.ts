import { randomBytes } from 'node:crypto'
import type { Audit } from '../conformance/history.ts'
import type { OldRuleBookError, ShardCountError } from '../core/errors.ts'
import type { Admission, BucketView, Durability, JobView } from '../core/job.ts'
import type { ChangedRules, Layer, LayeredBook, RuleChange } from '../core/layered-book.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from '../line/bucket-query.ts'
import type { Connection } from './connection/connection.ts'
import { FullMemory } from './connection/full-memory.ts'
import { Layout } from './layout.ts'
import type * as shared from './protocol/shared-backend.ts'
import type { ReplacedLayer } from './rules/rule-book-text.ts'
import { SharedRules } from './rules/shared-rules.ts'
import { firstFound } from './scripts/first-found.ts'
import { shardTags } from './scripts/keys.ts'
import { number } from './scripts/replies.ts'
import { defineScript } from './scripts/script.ts'
import { shardOf } from './scripts/shard-of.ts'
import { Store } from './scripts/store.ts'
import { type HandedTurn, Inboxes } from './transport/inboxes.ts'
import { Wakes } from './transport/wakes.ts'
import { Admissions } from './verbs/admissions.ts'
import { LineVerbs } from './verbs/line-verbs.ts'
import { ProducerVerbs } from './verbs/producer-verbs.ts'
import { audit } from './views/audit.ts'
import { BucketList } from './views/bucket-list.ts'
import { BucketViews } from './views/bucket-views.ts'
import { readJob } from './views/job.ts'
import { tally } from './views/tally.ts'

const quarantineScript = defineScript('quarantine', import.meta.url, number)

export interface RedisBackendOptions {
  readonly name: string
  readonly prefix: string
  readonly shards: number
  readonly connection: Connection
  /** The layers of rules that this process brings. */
  readonly rules: Layer | readonly Layer[]
  readonly keepFinished: number
}

/** Lines that many processes share, in Redis: one script for each verb, and the clock of Redis for all of them. */
export class RedisBackend implements shared.SharedBackend {
  readonly shards: number
  /** The hash tag of each shard, which all its keys begin with. */
  readonly tags: readonly string[]
  /** What Redis keeps when it dies, as its owner found out. */
  durability: Durability = 'none'
  readonly store: Store
  readonly #layout: Layout
  readonly #rules: SharedRules
  readonly #producers: ProducerVerbs
  readonly #lines: LineVerbs
  readonly #buckets: BucketViews
  readonly #list: BucketList
  readonly #wakes: Wakes
  readonly #inboxes: Inboxes
  readonly #admissions: Admissions
  readonly #memory: FullMemory
  /** Tells the processes apart that report the same step of a clock. */
  readonly #name = randomBytes(6).toString('base64url')
  #isSettling = false

  constructor({ name, prefix, shards, connection, rules, keepFinished }: RedisBackendOptions) {
    this.shards = shards
    this.tags = shardTags(prefix, name, shards)
    this.store = new Store(connection, this.tags, name)
    const storeOf = (count: number) => new Store(connection, shardTags(prefix, name, count), name)
    this.#layout = new Layout(this.store, storeOf)
    this.#rules = new SharedRules(this.store, rules, (shard, now) => this.quarantine(shard, now, 'loss'))
    this.#memory = new FullMemory(() => connection.commands)
    this.#producers = new ProducerVerbs(this.store, this.#rules, this.#memory, keepFinished)
    this.#lines = new LineVerbs(this.store, keepFinished, {
      onBook: (shard, version, retimed) => this.#noteBook(shard, version, retimed),
      nameOf: (shard) => this.#rules.nameOf(shard),
    })
    this.#buckets = new BucketViews(this.store, () => this.durability)
    this.#list = new BucketList(this.store, this.#buckets)
    this.#wakes = new Wakes(connection, this.tags)
    this.#inboxes = new Inboxes(connection, this.tags)
    this.#admissions = new Admissions(this.#producers, shards)
  }

  /**
   * Fetches the rule book, with the limits of this process if it is its first opening; answers which others they replaced.
   *
   * @throws OldRuleBookError, after which all the same it can be used; ShardCountError
   */
  async open(now?: number): Promise<ReplacedLayer[]> {
    await this.#memory.ask()
    await this.#layout.agree(now)
    return this.#rules.open(now)
  }

  shardOf(key: string): number {
    return shardOf(key, this.shards)
  }

  admit(request: shared.NamedRequest, now?: number): Promise<shared.SharedAdmission> {
    return this.#admissions.one(request, now)
  }

  admitMany(requests: readonly shared.NamedRequest[], now?: number): Promise<shared.SharedAdmission[]> {
    return this.#admissions.many(requests, now)
  }

  forecast(key: string, cost: number, now?: number): Promise<Admission> {
    return this.#producers.forecast(this.shardOf(key), key, cost, now)
  }

  /** An id does not tell its shard, so all are asked. */
  cancel(id: string, now?: number): Promise<shared.SharedJob | undefined> {
    return this.#takeOut(id, false, now)
  }

  leave(id: string, now?: number): Promise<shared.SharedJob | undefined> {
    return this.#takeOut(id, true, now)
  }

  async #takeOut(id: string, isCaller: boolean, now?: number): Promise<shared.SharedJob | undefined> {
    const operation = randomBytes(12).toString('base64url')
    const asked = this.tags.map((_, shard) => this.#producers.cancel(shard, { id, isCaller, operation }, now))
    return firstFound(asked)
  }

  claim(shard: number, request: shared.ClaimRequest, now?: number): Promise<shared.Claim> {
    return this.#lines.claim(shard, request, now)
  }

  recover(shard: number, now?: number): Promise<shared.Recovered[]> {
    return this.#lines.recover(shard, now)
  }

  expire(shard: number, now?: number): Promise<shared.SharedJob[]> {
    return this.#lines.expire(shard, now)
  }

  awaitWake(shard: number, atMost: number): Promise<void> {
    return this.#wakes.next(shard, 'wake', atMost)
  }

  awaitVacancy(shard: number, atMost: number): Promise<void> {
    return this.#wakes.next(shard, 'vacancy', atMost)
  }

  async resign(shard: number, scheduler: string): Promise<void> {
    await this.#wakes.end(shard)
    await this.#lines.resign(shard, scheduler)
  }

  /** Resolves with the turns that were handed over to the caller, or with none after `atMost`. */
  awaitTurns(shard: number, caller: string, atMost: number): Promise<HandedTurn[]> {
    return this.#inboxes.next(shard, caller, atMost)
  }

  fetch(shard: number, jobs: readonly shared.HandedJob[]): Promise<shared.FetchAnswer[]> {
    return this.#lines.fetch(shard, jobs)
  }

  areHanded(shard: number, jobs: readonly shared.HandedJob[]): Promise<boolean[]> {
    return this.#lines.handed(shard, jobs)
  }

  gate(shard: number, requests: readonly shared.GateRequest[], now?: number): Promise<shared.GateReply> {
    return this.#lines.gate(shard, requests, now)
  }

  start(shard: number, starts: readonly shared.StartReport[], now?: number): Promise<boolean[]> {
    return this.#lines.start(shard, starts, now)
  }

  finish(
    shard: number,
    reports: readonly shared.FinishReport[],
    now?: number,
  ): Promise<shared.FinishAnswer[]> {
    return this.#lines.finish(shard, reports, now)
  }

  renew(shard: number, jobs: readonly shared.HandedJob[], lease: number, now?: number): Promise<boolean[]> {
    return this.#lines.renew(shard, jobs, lease, now)
  }

  freeze(key: string, duration: number, now?: number) {
    return this.#producers.hold(this.shardOf(key), 'freeze', key, duration, now)
  }

  unfreeze(key: string, now?: number) {
    return this.#producers.hold(this.shardOf(key), 'unfreeze', key, 0, now)
  }

  pause(key: string, now?: number) {
    return this.#producers.hold(this.shardOf(key), 'pause', key, 0, now)
  }

  resume(key: string, now?: number) {
    return this.#producers.hold(this.shardOf(key), 'resume', key, 0, now)
  }

  get rules(): LayeredBook {
    return this.#rules.book
  }

  changeRules(change: RuleChange, now?: number): Promise<ChangedRules> {
    return this.#rules.change(change, now)
  }

  /** Learns what others have changed; answers what the process has to be told of that, once. */
  async followRules(now?: number): Promise<(OldRuleBookError | ShardCountError)[]> {
    return [...(await this.#layout.follow()), ...(await this.#rules.follow(now))]
  }

  job(id: string, now?: number): Promise<JobView | undefined> {
    return readJob(this.store, id, now)
  }

  inspect(key: string, now?: number): Promise<BucketView | undefined> {
    return this.#buckets.inspect(key, now)
  }

  list(query: BucketQuery, now?: number): Promise<BucketPage> {
    return this.#list.page(query, now)
  }

  tally(groups: readonly TallyGroup[]): Promise<BucketTally[]> {
    return tally(this.store, groups)
  }

  survey(): AsyncIterable<readonly BucketView[]> {
    return this.#buckets.survey()
  }

  audit(): Promise<Audit> {
    return audit(this.store)
  }

  async quarantine(
    shard: number,
    now?: number,
    reason: 'jump' | 'loss' | 'step' = 'jump',
    by = 0,
  ): Promise<void> {
    await this.store.run(quarantineScript, shard, [now ?? '', reason, by, this.#name])
  }

  time(shard: number): Promise<number> {
    return this.store.time(shard)
  }

  /** Ends those who wait for a marker. */
  stopWaiting(): void {
    this.#wakes.stop()
  }

  /** Ends those who wait for turns. */
  stopTurns(): void {
    this.#inboxes.stop()
  }

  /** In the background: verbs of workers carry no rule. What fails is tried again at the next verb. */
  #noteBook(shard: number, version: number, retimed: number): void {
    if (this.#isSettling || (version === this.#rules.version && retimed === version)) return
    this.#isSettling = true
    const settling =
      retimed === version ? this.#rules.settle(shard, version) : this.#rules.retime(shard, version)
    settling
      .catch(() => undefined)
      .finally(() => {
        this.#isSettling = false
      })
  }
}

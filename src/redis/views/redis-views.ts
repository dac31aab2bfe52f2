import type { Audit } from '../../conformance/history.ts'
import type { BucketView, Durability } from '../../core/bucket-view.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { JobExplanation } from '../../core/explanation-view.ts'
import type { FamilyView } from '../../core/family-view.ts'
import type { JobView } from '../../core/job.ts'
import type { Flow, LineJob, LineView, Recent, RecentDeparture, RecentVerdict } from '../../core/line-view.ts'
import type { RuleView } from '../../core/rule-view.ts'
import type { Costs } from '../../core/usage.ts'
import { REJECT_REASONS } from '../../core/verdict.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from '../../line/bucket-query.ts'
import type { LineViews } from '../../line/engine.ts'
import { explain } from '../../line/explanation.ts'
import type { FamilyPage, FamilyQuery } from '../../line/family-query.ts'
import type { JobFacts } from '../../line/job-facts.ts'
import { idOfName } from '../scripts/job-id.ts'
import { type Answer, list, number, optional, rest, row, text, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { audit } from './audit.ts'
import { BucketList } from './bucket-list.ts'
import { BucketViews } from './bucket-views.ts'
import { readFacts } from './explain.ts'
import { FamilyList } from './family-list.ts'
import { FamilyViews } from './family-views.ts'
import { readJob } from './job.ts'
import { tally } from './tally.ts'

/** Times are microseconds; -Infinity for a job that is not to be tried again. */
const jobRow = row({
  id: text,
  cost: number,
  state: word('handed', 'waiting', 'retrying'),
  admittedAt: number,
  readyAt: number,
  costs: text,
})
const verdictRow = row({ at: number, id: text, waiting: number, verdict: word('yes', ...REJECT_REASONS) })
/** Gaps are infinite where no start before it is remembered. */
const startRow = row({ at: number, id: text, gap: number, gapRatio: number })

const flowScript = defineScript(
  'flow',
  import.meta.url,
  list(row({ now: number, admitted: number, granted: number, ended: number, rejected: number })),
)
const lineScript = defineScript(
  'line',
  import.meta.url,
  list(optional(row({ total: number, jobs: rest(jobRow) }))),
)
const recentScript = defineScript(
  'recent',
  import.meta.url,
  list(row({ verdicts: list(rest(verdictRow)), starts: list(rest(startRow)) })),
)

interface RedisViewsPorts {
  /** Resolves when the line can be used. */
  ready(): Promise<void>
  /** The rule that governs a key, as this process knows it. */
  ruleOf(key: string): RuleView | undefined
  durability(): Durability
}

/** What can be read of a line on Redis, once it is open. Only tests pass `now`. */
export class RedisViews implements LineViews {
  readonly #store: Store
  readonly #ports: RedisViewsPorts
  readonly #buckets: BucketViews
  readonly #families: FamilyViews
  readonly #familyList: FamilyList
  readonly #list: BucketList

  constructor(store: Store, ports: RedisViewsPorts) {
    this.#store = store
    this.#ports = ports
    this.#buckets = new BucketViews(store, () => ports.durability())
    this.#families = new FamilyViews(store)
    this.#familyList = new FamilyList(store, this.#families)
    this.#list = new BucketList(store, this.#buckets)
  }

  async job(id: string, now?: number, key?: string): Promise<JobView | undefined> {
    return readJob(await this.#opened(), id, now, key)
  }

  async inspect(key: string, now?: number): Promise<BucketView | undefined> {
    await this.#opened()
    return this.#buckets.inspect(key, now)
  }

  async family(path: string, now?: number): Promise<FamilyView | undefined> {
    const shard = (await this.#opened()).shardOf(path)
    const [view] = await this.#families.ofPaths(shard, [path], now)
    return view
  }

  async families(query: FamilyQuery, now?: number): Promise<FamilyPage> {
    await this.#opened()
    return this.#familyList.page(query, now)
  }

  async buckets(query: BucketQuery, now?: number): Promise<BucketPage> {
    await this.#opened()
    return this.#list.page(query, now)
  }

  async tally(groups: readonly TallyGroup[]): Promise<BucketTally[]> {
    return tally(await this.#opened(), groups)
  }

  async *survey(): AsyncGenerator<readonly BucketView[]> {
    await this.#opened()
    yield* this.#buckets.survey()
  }

  async *surveyFamilies(): AsyncGenerator<readonly FamilyView[]> {
    await this.#opened()
    yield* this.#familyList.survey()
  }

  async audit(): Promise<Audit> {
    return audit(await this.#opened())
  }

  async explain(id: string, now?: number, key?: string): Promise<JobExplanation | undefined> {
    const facts = await this.facts(id, now, key)
    return facts && explain(facts, this.#ports.ruleOf(facts.key))
  }

  async facts(id: string, now?: number, key?: string): Promise<JobFacts | undefined> {
    return readFacts(await this.#opened(), id, now, key)
  }

  async line(key: string, limit: number, now?: number): Promise<LineView | undefined> {
    const store = await this.#opened()
    const line = await store.read(lineScript, this.#store.shardOf(key), [key, limit], now)
    return line && { key, total: line.total, jobs: line.jobs.map(lineJob) }
  }

  async flow(now?: number): Promise<Flow> {
    const store = await this.#opened()
    const asked = store.tags.map((_, shard) => store.read(flowScript, shard, [], now))
    const sum = { at: 0, admitted: 0, rejected: 0, departed: 0, ended: 0 }
    for (const shard of await Promise.all(asked)) {
      sum.at = Math.max(sum.at, shard.now / MILLISECOND)
      sum.admitted += shard.admitted
      sum.rejected += shard.rejected
      sum.departed += shard.granted
      sum.ended += shard.ended
    }
    return sum
  }

  /** Also prolongs the time for which the bucket is watched; a call that is sent twice does no harm. */
  async recent(key: string, now?: number): Promise<Recent> {
    const store = await this.#opened()
    const { verdicts, starts } = await store.read(recentScript, this.#store.shardOf(key), [key], now)
    return { verdicts: verdicts.map(recentVerdict), departures: starts.map(recentDeparture) }
  }

  async #opened(): Promise<Store> {
    await this.#ports.ready()
    return this.#store
  }
}

function lineJob({ id, cost, costs, state, admittedAt, readyAt }: Answer<typeof jobRow>): LineJob {
  return {
    id: idOfName(id),
    cost,
    ...(costs !== '' && { costs: JSON.parse(costs) as Costs }),
    state,
    admittedAt: admittedAt / MILLISECOND,
    ...(Number.isFinite(readyAt) && { readyAt: readyAt / MILLISECOND }),
    // Only the id of a turn begins so.
    ...(id.startsWith('~') && { isTurn: true as const }),
  }
}

function recentVerdict({ at, id, waiting, verdict }: Answer<typeof verdictRow>): RecentVerdict {
  const reason = verdict === 'yes' ? {} : { reason: verdict }
  return { at: at / MILLISECOND, id: idOfName(id), accepted: verdict === 'yes', ...reason, waiting }
}

function recentDeparture({ at, id, gap, gapRatio }: Answer<typeof startRow>): RecentDeparture {
  const isKnown = Number.isFinite(gap)
  return { at: at / MILLISECOND, id: idOfName(id), ...(isKnown && { gapMs: gap / MILLISECOND, gapRatio }) }
}

import type { Audit } from '../conformance/history.ts'
import type { BucketView } from '../core/bucket-view.ts'
import type { Clock } from '../core/clock.ts'
import type { JobExplanation } from '../core/explanation-view.ts'
import type { FamilyView } from '../core/family-view.ts'
import type { JobView } from '../core/job.ts'
import type { Flow, LineView, Recent } from '../core/line-view.ts'
import type { Awaitable } from '../line/awaitable.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from '../line/bucket-query.ts'
import type { LineViews } from '../line/engine.ts'
import { explain } from '../line/explanation.ts'
import type { FamilyPage, FamilyQuery } from '../line/family-query.ts'
import type { JobFacts, Stall } from '../line/job-facts.ts'
import { type LiveRuleBook, ruleOf } from '../line/limits.ts'
import type { MemoryHandoff } from './memory-handoff.ts'
import type { MemoryWorker } from './memory-worker.ts'
import type { StoreViews } from './store/store-views.ts'
import { WalkTurns } from './walk-turns.ts'

/** Buckets on one page of a survey, which take some hundred microseconds. */
const SURVEY_PAGE = 200

type WorkerState = Pick<MemoryWorker<unknown, unknown>, 'isOpen' | 'hasRoom' | 'running'>

interface MemoryViewsPorts {
  readonly store: StoreViews
  readonly clock: Clock
  readonly limits: LiveRuleBook
  readonly workers: ReadonlySet<WorkerState>
  readonly handoff: Pick<MemoryHandoff, 'withholdsFrom'>
}

/** What can be read of a line in memory now: the store knows the line, and the workers know who takes jobs. */
export class MemoryViews implements LineViews {
  readonly #ports: MemoryViewsPorts
  readonly #store: StoreViews
  readonly #clock: Clock
  readonly #walks = new WalkTurns()

  constructor(ports: MemoryViewsPorts) {
    this.#ports = ports
    this.#store = ports.store
    this.#clock = ports.clock
  }

  job(id: string, now = this.#clock.now(), key?: string): JobView | undefined {
    return this.#store.job(id, now, key)
  }

  inspect(key: string): BucketView | undefined {
    return this.#store.inspect(key, this.#clock.now())
  }

  family(path: string): FamilyView | undefined {
    return this.#store.family(path, this.#clock.now())
  }

  families(query: FamilyQuery): Awaitable<FamilyPage> {
    return this.#walks.run(this.#store.listFamilies(query, this.#clock.now()))
  }

  buckets(query: BucketQuery): Awaitable<BucketPage> {
    return this.#walks.run(this.#store.list(query, this.#clock.now()))
  }

  tally(groups: readonly TallyGroup[]): Awaitable<BucketTally[]> {
    return this.#walks.run(this.#store.tally(groups, this.#clock.now()))
  }

  async *survey(): AsyncGenerator<readonly BucketView[]> {
    let page: BucketView[] = []
    for (const key of this.#store.keys()) {
      const view = this.inspect(key)
      if (view !== undefined) page.push(view)
      if (page.length < SURVEY_PAGE) continue
      yield page
      page = []
    }
    yield page
  }

  async *surveyFamilies(): AsyncGenerator<readonly FamilyView[]> {
    let page: FamilyView[] = []
    for (const path of this.#store.paths()) {
      const view = this.family(path)
      if (view !== undefined) page.push(view)
      if (page.length < SURVEY_PAGE) continue
      yield page
      page = []
    }
    yield page
  }

  audit(): Awaitable<Audit> {
    return this.#walks.run(this.#store.audit())
  }

  explain(id: string, now = this.#clock.now(), key?: string): JobExplanation | undefined {
    const facts = this.#store.facts(id, now, key)
    if (facts === undefined) return undefined
    const wait = facts.wait && { ...facts.wait, stall: this.#stallOf(facts) }
    return explain({ ...facts, wait }, ruleOf(this.#ports.limits, facts.key))
  }

  line(key: string, limit: number): LineView | undefined {
    return this.#store.line(key, limit, this.#clock.now())
  }

  flow(): Flow {
    return this.#store.flow(this.#clock.now())
  }

  recent(key: string): Recent {
    return this.#store.recent(key, this.#clock.now())
  }

  /** What keeps the head although it may go. A turn at the head needs no handler, but a job behind it may. */
  #stallOf({ now, key, wait }: JobFacts): Stall | undefined {
    if (!wait?.needsHandler) return undefined
    const open = [...this.#ports.workers].filter(({ isOpen }) => isOpen)
    if (open.length === 0) return { kind: 'no-worker' }
    if (wait.head.isTurn || wait.head.due > now) return undefined
    const running = open.reduce((sum, worker) => sum + worker.running, 0)
    if (!open.some(({ hasRoom }) => hasRoom)) return { kind: 'busy', running }
    return this.#ports.handoff.withholdsFrom(key) ? { kind: 'shared-out', running } : undefined
  }
}

import type { Audit } from '../conformance/history.ts'
import type { BucketView, Durability } from '../core/bucket-view.ts'
import type { JobExplanation } from '../core/explanation-view.ts'
import type { FamilyView } from '../core/family-view.ts'
import type { HeapReport } from '../core/heap-use.ts'
import type { Admission, JobView, Rejected } from '../core/job.ts'
import type { Flow, LineView, Recent } from '../core/line-view.ts'
import type { Costs } from '../core/usage.ts'
import type { Handler } from './attempt.ts'
import type { Awaitable } from './awaitable.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from './bucket-query.ts'
import type { FamilyPage, FamilyQuery } from './family-query.ts'
import type { JobRequest } from './job.ts'
import type { LiveRuleBook } from './limits.ts'
import type { WorkSettings } from './options.ts'
import type { FreezeRequest } from './outcome.ts'
import type { SettleRequest } from './settle.ts'
import type { Turn } from './turn.ts'

/**
 * The contract of a line: one kind of line with its clock, schedulers and workers, behind a shaper. It emits what its verbs
 * do. Not in it: the checks of names, keys and options, which come first, and the refusal of `enqueue`, `enqueueMany`,
 * `forecast` and `work` after `close`.
 *
 * The `deadline` of a request is a duration in microseconds, counted from the time at which the line runs the verb;
 * Infinity for none.
 */
export interface Engine<Data, Result> {
  /** The live rule book. */
  readonly limits: LiveRuleBook
  /** What can be read of the line. */
  readonly views: LineViews
  /** What accepted jobs survive; undefined before it is known. */
  readonly durability: Durability | undefined
  /** What keys use of the heap of this process: also their ended jobs and rules by hand. */
  readonly heap: HeapReport
  /** Resolves when the line can be used. */
  ready(): Awaitable<void>

  enqueue(request: JobRequest): Awaitable<Admission>
  /** Returns the verdicts in the order of the requests. */
  enqueueMany(requests: readonly JobRequest[]): Awaitable<Admission[]>
  /** Returns what `enqueue` would return; changes nothing. */
  forecast(key: string, cost: number, costs?: Costs): Awaitable<Admission>
  /**
   * Admits a caller to the line and resolves when its turn departs, or returns the refusal; `deadline` 0: now or never. An
   * aborted signal gives the place back. What holds a place of the limit holds it until it is released. @throws TurnTimeoutError, TurnCancelledError, the reason of the signal
   */
  turn(request: JobRequest, signal: AbortSignal | undefined): Promise<Turn | Rejected>
  /** Returns false when the job is unknown or has departed. `key`: see `job`. */
  cancel(id: string, key?: string): Awaitable<boolean>

  /**
   * Counts what the attempt of this number, or the one that runs, really took; a handler says the same with `job.settle`. Returns false
   * when it was settled before, or does not run. @throws UnknownUnitError
   */
  settle(request: SettleRequest): Awaitable<boolean>

  freeze(key: string, request: FreezeRequest): Awaitable<void>
  /** Returns whether a freeze was lifted. */
  unfreeze(key: string): Awaitable<boolean>
  pause(key: string): Awaitable<void>
  resume(key: string): Awaitable<void>

  work(handler: Handler<Data, Result>, settings: WorkSettings): ShapedWorker
  /** Runs the schedulers without a handler, for workers in other processes. */
  schedule(): void
  /** Ends the line. The first call decides how; later calls wait for the same end. */
  close(drainMs: number | undefined): Promise<void>
}

/** What can be read of the lines. No job or bucket changes; `recent` begins to record what happens to its bucket. */
export interface LineViews {
  /** The job of this id in the first segment of the key; without a key, the one that took the id first, while that is remembered. Tests alone pass `now`. */
  job(id: string, now?: number, key?: string): Awaitable<JobView | undefined>
  inspect(key: string): Awaitable<BucketView | undefined>
  /** The live total of this path. */
  family(path: string): Awaitable<FamilyView | undefined>
  families(query: FamilyQuery): Awaitable<FamilyPage>
  buckets(query: BucketQuery): Awaitable<BucketPage>
  /** Sums over all live buckets, for each group of keys and the keys below them; an empty group is every key. */
  tally(groups: readonly TallyGroup[]): Awaitable<BucketTally[]>
  survey(): AsyncIterable<readonly BucketView[]>
  /** All live totals, in no order, some at a time. One that lives throughout may be seen twice. */
  surveyFamilies(): AsyncIterable<readonly FamilyView[]>
  /** Recounts jobs by state: exact where few buckets live, else a count while the line moves. */
  audit(): Awaitable<Audit>
  /** Why a job waits. `key`: see `job`. */
  explain(id: string, now?: number, key?: string): Awaitable<JobExplanation | undefined>
  /** The first `limit` jobs of the line. */
  line(key: string, limit: number): Awaitable<LineView | undefined>
  flow(): Awaitable<Flow>
  recent(key: string): Awaitable<Recent>
}

/** A handler at work: it is called for jobs whose slot has come, up to `concurrency` times at once. */
export interface ShapedWorker {
  readonly concurrency: number
  /** Handlers that run now. */
  readonly running: number
  /** Takes no more jobs, and resolves when the handlers that run have settled. Safe to call twice. */
  close(): Promise<void>
}

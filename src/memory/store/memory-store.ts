import { accepted } from '../../core/admission.ts'
import { IdConflictError } from '../../core/errors.ts'
import { HeapUse } from '../../core/heap-use.ts'
import type { Admission } from '../../core/job.ts'
import { twinName } from '../../core/job-name.ts'
import type { ChangedRules, LayeredBook } from '../../core/layered-book.ts'
import type { RuleChange } from '../../core/rule-layers.ts'
import type { Costs } from '../../core/usage.ts'
import { countIn } from '../../core/verdict.ts'
import type { JobRequest } from '../../line/job.ts'
import type { Retention } from '../../line/options.ts'
import type { WhichStart } from '../../line/settle.ts'
import { Agenda } from './agenda.ts'
import { BucketHolds } from './bucket-holds.ts'
import type { HandlerPool } from './departures.ts'
import { HeldTurns } from './held-turns.ts'
import { isSameRequest, JobLedger } from './job-ledger.ts'
import type { JobRecord } from './job-record.ts'
import { JobTransitions, type Outcome } from './job-transitions.ts'
import { LiveBuckets } from './live-buckets.ts'
import { heldByOf } from './parts-ahead.ts'
import { Starts } from './starts.ts'
import { StoreViews } from './store-views.ts'
import { judge, rejectedBy } from './verdict.ts'
import { WatchedBuckets } from './watched-buckets.ts'

/** Buckets forgotten in one call, so that a million that end together block nothing. */
const MOST_FORGOTTEN = 1_000

/**
 * The lines of one process: the live buckets by key, their jobs by id, and the agenda of what is due when. Its methods are
 * verbs, each with the transition that it performs; `now` is an argument, in microseconds. Not in it: clocks, timers,
 * handlers, events and the choice of a worker.
 */
export class MemoryStore {
  readonly #buckets: LiveBuckets
  readonly #jobs: JobLedger
  readonly #agenda = new Agenda()
  readonly #transitions: JobTransitions
  readonly #watched = new WatchedBuckets()
  /** Departures of claimed jobs, and what they count. */
  readonly starts: Starts
  /** Places that turns hold. */
  readonly held: HeldTurns
  /** Freezes and pauses. */
  readonly holds: BucketHolds
  readonly views: StoreViews
  /** What the keys of each first segment use of the heap. */
  readonly use = new HeapUse()

  constructor(rules: LayeredBook, retention: Retention) {
    this.#buckets = new LiveBuckets(rules, this.use)
    this.#jobs = new JobLedger(retention, this.use)
    this.#transitions = new JobTransitions(this.#jobs, this.#agenda)
    this.starts = new Starts(this.#buckets, this.#jobs, this.#agenda, this.#watched)
    this.held = new HeldTurns(this.#agenda)
    this.holds = new BucketHolds(this.#buckets, this.#agenda)
    this.views = new StoreViews(this.#buckets, this.#jobs, this.#watched)
  }

  /** Jobs that have not ended. */
  get live(): number {
    return this.#jobs.live
  }

  /** Whether a job of this id lives in the first segment of the key, or is remembered. */
  has(id: string, key: string): boolean {
    return this.#jobs.find(id, key) !== undefined
  }

  /** -> waiting, or refused with nothing changed. @throws NoLimitError, IdConflictError */
  admit(request: JobRequest, now: number): Admission {
    const known = this.#jobs.known(request)
    const answer = known?.answer
    if (answer !== undefined) return { ...answer, ...this.#buckets.fillOf(answer.key), replayed: true }
    const bucket = this.#buckets.findOpen(request.key)
    const verdict = judge(bucket, request, now)
    if (!verdict.accepted) return rejectedBy(bucket, verdict, now)
    countIn(bucket, request)
    const position = bucket.ahead(verdict.retriesAhead) + 1
    this.#buckets.keep(bucket)
    const job = this.#jobs.add(request, bucket, now)
    const hadLine = bucket.hasLine
    bucket.join(job)
    bucket.member?.join(job)
    if (!hadLine) this.#agenda.arm(bucket, now, now)
    this.#agenda.watch(job)
    const { waiting, limit } = bucket
    const { departsAt, isEstimate } = verdict
    const place = { position, departsAt, waiting, capacity: limit.capacity, isEstimate }
    const admission = accepted(job.id, job.key, place, now)
    if (request.id !== undefined) job.answer = admission
    return admission
  }

  /** The same for many, in order. @throws as `admit` does for any of them, with none admitted */
  admitMany(requests: readonly JobRequest[], now: number): Admission[] {
    const named = new Map<string, JobRequest>()
    for (const request of requests) {
      if (this.#jobs.known(request) === undefined) this.#buckets.findOpen(request.key)
      if (request.id === undefined) continue
      const name = twinName(request.id, request.key)
      const first = named.get(name) ?? request
      if (!isSameRequest(first, request)) throw new IdConflictError(request.id)
      named.set(name, first)
    }
    return requests.map((request) => this.admit(request, now))
  }

  /** The verdict that `admit` would give; changes nothing. */
  forecast(key: string, cost: number, now: number, costs?: Costs): Admission {
    const bucket = this.#buckets.findOpen(key)
    const request = { cost, costs, deadline: Number.POSITIVE_INFINITY }
    const verdict = judge(bucket, request, now)
    if (!verdict.accepted) return rejectedBy(bucket, verdict, now)
    const { departsAt, retriesAhead, isEstimate } = verdict
    const position = bucket.ahead(retriesAhead) + 1
    const waiting = bucket.waiting + cost
    const { capacity } = bucket.limit
    const answer = accepted('', key, { position, departsAt, waiting, capacity, isEstimate }, now)
    const heldBy = heldByOf(bucket, { cost, costs }, position - 1, departsAt, now)
    return heldBy ? { ...answer, heldBy } : answer
  }

  /** Counts a verdict that was returned to a caller. */
  noteVerdict(key: string, id: string | undefined, admission: Admission, now: number): void {
    if (!admission.accepted) this.#jobs.countRejection()
    this.#watched.noteVerdict(key, id, admission, now)
  }

  /** waiting | retrying -> cancelled; undefined when the job is unknown or no longer waits. */
  cancel(id: string, now: number, key?: string): JobRecord | undefined {
    const job = this.#jobs.find(id, key)
    if (job === undefined || (job.state !== 'waiting' && job.state !== 'retrying')) return undefined
    this.#transitions.endWaiting(job, 'cancelled', now)
    return job
  }

  /** waiting | retrying -> expired, for every job whose deadline has passed. */
  expire(now: number): JobRecord[] {
    const expired: JobRecord[] = []
    for (let job = this.#agenda.overdueJob(now); job !== undefined; job = this.#agenda.overdueJob(now)) {
      this.#transitions.endWaiting(job, 'expired', now)
      expired.push(job)
    }
    return expired
  }

  /** Lets buckets that were held back depart: the pool of handlers has changed. */
  letIn(now: number): void {
    this.#agenda.letIn(now)
  }

  /**
   * waiting | retrying -> handed: the head of the bucket whose slot came first, once it has come. Without `hasRoom` no
   * handler is free, and only turns may depart. Buckets that the pool refuses are held back until `letIn`.
   */
  claim(now: number, hasRoom = true, pool?: HandlerPool): JobRecord | undefined {
    const bucket = this.#agenda.dueBucket(now, hasRoom, pool)
    if (bucket === undefined) return undefined
    const job = bucket.takeNext(now)
    job.become('handed')
    this.#jobs.countHanded()
    this.#agenda.unwatch(job)
    return job
  }

  /** running -> completed | failed | retrying. */
  finish(job: JobRecord, outcome: Outcome, now: number): void {
    this.#transitions.finish(job, outcome, now)
  }

  /** The job of this id, if the start runs that is meant. */
  runningJob(id: string, key: string | undefined, { fence, attempt }: WhichStart): JobRecord | undefined {
    const job = this.#jobs.find(id, key)
    if (job?.state !== 'running' || job.isTurn) return undefined
    if (fence !== undefined && fence !== job.fence) return undefined
    if (attempt === undefined) return job
    const isAmbiguous = fence === undefined && job.startsAgain
    return attempt === job.attempt && !isAmbiguous ? job : undefined
  }

  /** The rule book in force. */
  get rules(): LayeredBook {
    return this.#buckets.rules
  }

  /** Changes the rule book, and spaces waiting jobs anew under a changed limit at once. */
  changeRules(change: RuleChange, now: number): ChangedRules {
    const before = this.rules
    const after = before.changed(change, now)
    if (after === undefined) return { at: now, isChanged: false, before, after: before }
    const totals = this.#buckets.families.apply(after, change, now)
    for (const bucket of this.#buckets.applyRules(after, change, now)) this.#agenda.arm(bucket, now)
    this.#moveBelowTotals(change, now)
    for (const total of totals) this.#agenda.families.armTotal(total, now)
    return { at: now, isChanged: true, before, after }
  }

  /** Where totals came or went, the buckets below them get other places. */
  #moveBelowTotals(change: RuleChange, now: number): void {
    const misplaced = [...this.#buckets].filter((bucket) => this.#buckets.families.isMisplaced(bucket))
    for (const bucket of misplaced) this.#agenda.families.uproot(bucket)
    this.#buckets.families.move(misplaced, change, now)
    if (misplaced.length === 0) return
    for (const bucket of this.#buckets) this.#agenda.rearm(bucket, now)
  }

  /** Forgets buckets that are empty and whose `next` has passed, a bounded number at a time; returns how many. */
  forget(now: number): number {
    this.#buckets.families.forget(now)
    for (let forgotten = 0; forgotten < MOST_FORGOTTEN; forgotten++) {
      const bucket = this.#agenda.takeForgettable(now)
      if (bucket === undefined) return forgotten
      this.#buckets.forget(bucket)
    }
    return MOST_FORGOTTEN
  }

  /** When the next departure is due, of all or of turns only; Infinity when nothing waits. */
  nextDeparture(hasRoom = true): number {
    return this.#agenda.nextDeparture(hasRoom)
  }

  /** By how much that departure may be late and still keep its slot, in microseconds. */
  nextTolerance(hasRoom = true): number {
    return this.#agenda.nextTolerance(hasRoom)
  }

  /** When the next deadline passes, the next turn loses its place or the next bucket may be forgotten; Infinity when there is none. */
  nextChore(): number {
    return Math.min(this.#agenda.nextChore, this.held.earliest, this.#buckets.families.earliest)
  }

  /** Every job that waits. */
  *waiting(): Generator<JobRecord> {
    for (const bucket of this.#buckets) yield* bucket.inOrder()
  }
}

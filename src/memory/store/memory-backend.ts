import type { Audit } from '../../conformance/history.ts'
import * as bucketCore from '../../core/bucket.ts'
import { IdConflictError } from '../../core/errors.ts'
import type { Admission, BucketView, JobView } from '../../core/job.ts'
import type { ChangedRules, LayeredBook, RuleChange } from '../../core/layered-book.ts'
import * as verdicts from '../../core/verdict.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from '../../line/bucket-query.ts'
import type { Backend, Call, HandlerPool, JobRequest, Outcome } from '../../line/job.ts'
import { accepted, rejected } from './admission.ts'
import { Agenda } from './agenda.ts'
import { viewOf } from './bucket-facts.ts'
import { listBuckets, tallyBuckets, type Walk } from './bucket-walk.ts'
import { JobFates } from './job-fates.ts'
import { isSameRequest, JobLedger } from './job-ledger.ts'
import type { JobRecord } from './job-record.ts'
import { LiveBuckets } from './live-buckets.ts'
import { MemoryInsight } from './memory-insight.ts'

/** Buckets forgotten in one call, so that a million that end together hold nobody up. */
const MOST_FORGOTTEN = 1_000

/** The lines of one process: the live buckets by key, their jobs by id, and the agenda of what is due when. */
export class MemoryBackend implements Backend {
  readonly #buckets: LiveBuckets
  readonly #jobs: JobLedger
  readonly #agenda = new Agenda()
  readonly #fates: JobFates
  readonly insight: MemoryInsight

  constructor(rules: LayeredBook, keepFinished: number) {
    this.#buckets = new LiveBuckets(rules)
    this.#jobs = new JobLedger(keepFinished)
    this.#fates = new JobFates(this.#jobs, this.#agenda)
    this.insight = new MemoryInsight(this.#buckets, this.#jobs)
  }

  get live(): number {
    return this.#jobs.live
  }

  admit(request: JobRequest, now: number): Admission {
    const known = this.#jobs.known(request)
    const told = known?.told
    if (told !== undefined) return { ...told, ...this.#buckets.fillOf(told.key), replayed: true }
    const bucket = this.#buckets.findOpen(request.key)
    const verdict = verdicts.admit(bucket, request, now, bucket.line(now), bucket.retries)
    if (!verdict.accepted) return rejected(verdict, bucket, now)
    const position = bucket.ahead(verdict.retriesAhead) + 1
    const job = this.#jobs.add(request, bucket, now)
    this.#buckets.keep(bucket)
    const hadLine = bucket.hasLine
    bucket.join(job)
    if (!hadLine) this.#agenda.arm(bucket, now)
    this.#agenda.watch(job)
    const place = { id: job.id, key: job.key, position, departsAt: verdict.departsAt }
    const admission = accepted(place, bucket.waiting, bucket, now)
    if (request.id !== undefined) job.told = admission
    return admission
  }

  admitMany(requests: readonly JobRequest[], now: number): Admission[] {
    const named = new Map<string, JobRequest>()
    for (const request of requests) {
      if (this.#jobs.known(request) === undefined) this.#buckets.findOpen(request.key)
      if (request.id === undefined) continue
      const first = named.get(request.id) ?? request
      if (!isSameRequest(first, request)) throw new IdConflictError(request.id)
      named.set(request.id, first)
    }
    return requests.map((request) => this.admit(request, now))
  }

  forecast(key: string, cost: number, now: number): Admission {
    const bucket = this.#buckets.findOpen(key)
    const request = { cost, deadline: Number.POSITIVE_INFINITY }
    const verdict = verdicts.judge(bucket, request, now, bucket.line(now), bucket.retries)
    if (!verdict.accepted) return rejected(verdict, bucket, now)
    const position = bucket.ahead(verdict.retriesAhead) + 1
    const place = { id: '', key, position, departsAt: verdict.departsAt }
    return accepted(place, bucket.waiting + cost, bucket, now)
  }

  cancel(id: string, now: number): JobRecord | undefined {
    const job = this.#jobs.get(id)
    if (job === undefined || (job.state !== 'waiting' && job.state !== 'retrying')) return undefined
    this.#fates.endWaiting(job, 'cancelled', now)
    return job
  }

  expire(now: number): JobRecord[] {
    const expired: JobRecord[] = []
    for (let job = this.#agenda.overdueJob(now); job !== undefined; job = this.#agenda.overdueJob(now)) {
      this.#fates.endWaiting(job, 'expired', now)
      expired.push(job)
    }
    return expired
  }

  letIn(): void {
    this.#agenda.letIn()
  }

  claim(now: number, hasRoom = true, pool?: HandlerPool): JobRecord | undefined {
    const bucket = this.#agenda.dueBucket(now, hasRoom, pool)
    if (bucket === undefined) return undefined
    const job = bucket.takeNext(now)
    job.become('handed')
    this.#agenda.unwatch(job)
    return job
  }

  gate(job: JobRecord, now: number): number {
    const { bucket, cost } = job
    job.become('running')
    this.insight.noteStart(job, now)
    const slot = bucketCore.reserveDue(bucket, cost, this.#agenda.slotOf(bucket), now)
    bucketCore.depart(bucket, cost, now)
    job.attempt++
    job.fence = this.#jobs.countStart()
    job.departedAt = now
    bucket.running++
    if (job.isTurn) bucket.isDeparting = true
    this.#agenda.arm(bucket)
    return slot
  }

  began(job: JobRecord, slot: number, { calledAt, returnedAt, delay }: Call): number {
    const { bucket } = job
    job.departedAt = calledAt
    // Where nothing is tolerated, a guess is not good enough.
    const startedBy = bucket.limit.tolerance > 0 ? calledAt + delay : returnedAt
    // One that was not on the grid was reserved for the time at which the gate was passed.
    const isOnGrid = slot < bucket.lastStart
    const isMoved = bucketCore.startedBy(bucket, slot, isOnGrid, startedBy)
    if (isMoved || bucket.isDeparting) {
      bucket.isDeparting = false
      this.#agenda.arm(bucket)
    }
    return startedBy
  }

  finish(job: JobRecord, outcome: Outcome, now: number): void {
    this.#fates.finish(job, outcome, now)
  }

  freeze(key: string, until: number, _now: number): number {
    const bucket = this.#buckets.find(key)
    bucketCore.freeze(bucket, until)
    this.#buckets.keep(bucket)
    this.#agenda.arm(bucket)
    return bucket.frozenUntil
  }

  unfreeze(key: string, now: number): boolean {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined || bucket.frozenUntil <= now) return false
    bucketCore.unfreeze(bucket)
    this.#agenda.arm(bucket, now)
    return true
  }

  pause(key: string, _now: number): void {
    const bucket = this.#buckets.find(key)
    bucket.paused = true
    this.#buckets.keep(bucket)
    this.#agenda.arm(bucket)
  }

  resume(key: string, now: number): void {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return
    bucket.paused = false
    this.#agenda.arm(bucket, now)
  }

  get rules(): LayeredBook {
    return this.#buckets.rules
  }

  changeRules(change: RuleChange, now: number): ChangedRules {
    const before = this.rules
    const after = before.changed(change, now)
    if (after === undefined) return { at: now, isChanged: false, before, after: before }
    for (const bucket of this.#buckets.applyRules(after)) this.#agenda.arm(bucket)
    return { at: now, isChanged: true, before, after }
  }

  job(id: string, now: number): JobView | undefined {
    return this.#jobs.get(id)?.view(now)
  }

  inspect(key: string, now: number): BucketView | undefined {
    const bucket = this.#buckets.get(key)
    return bucket && viewOf(bucket, now)
  }

  *keys(): Generator<string> {
    // New ones come last. Without an end to it, a slow walk could follow their coming and going for ever.
    let left = this.#buckets.size
    for (const { key } of this.#buckets) {
      if (left-- === 0) return
      yield key
    }
  }

  pace({ bucket }: JobRecord) {
    const { pattern, lastStart, limit } = bucket
    const spacing = bucketCore.spacingAfterStart(bucket)
    return { pattern, lastStart, spacing, due: this.#agenda.slotOf(bucket), tolerance: limit.tolerance }
  }

  list(query: BucketQuery, now: number): Walk<BucketPage> {
    return listBuckets(this.#buckets, query, now)
  }

  tally(groups: readonly TallyGroup[], now: number): Walk<BucketTally[]> {
    return tallyBuckets(this.#buckets, groups, now)
  }

  audit(): Audit {
    return this.#jobs.audit()
  }

  forget(now: number): number {
    for (let forgotten = 0; forgotten < MOST_FORGOTTEN; forgotten++) {
      const bucket = this.#agenda.takeForgettable(now)
      if (bucket === undefined) return forgotten
      this.#buckets.forget(bucket)
    }
    return MOST_FORGOTTEN
  }

  nextDeparture(hasRoom = true): number {
    return this.#agenda.nextDeparture(hasRoom)
  }

  nextTolerance(hasRoom = true): number {
    return this.#agenda.nextTolerance(hasRoom)
  }

  nextChore(): number {
    return this.#agenda.nextChore
  }

  *waiting(): Generator<JobRecord> {
    for (const bucket of this.#buckets) yield* bucket.inOrder()
  }
}

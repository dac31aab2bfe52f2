import { projectionOf } from '../../core/bucket.ts'
import { type BucketState, bucketState } from '../../core/bucket-view.ts'
import { advance, type Retries, type WaitingJob } from '../../core/projection.ts'
import { countNamed } from '../../core/waiting-charges.ts'
import { BucketNumbers } from './bucket-numbers.ts'
import type { JobRecord } from './job-record.ts'
import type { Standing } from './jobs-ahead.ts'
import { Line } from './line.ts'
import type { Before } from './line-counts.ts'
import { ReturnedJobs } from './returned-jobs.ts'

const NONE = new ReturnedJobs()

/** A live bucket: the numbers of the core, its line, its retries. One object: of a million, each further one costs collector and cache. */
export class MemoryBucket extends BucketNumbers {
  readonly #line = new Line<JobRecord>()
  /** Only while there are some. */
  #returned: ReturnedJobs | undefined = undefined
  /** A retry departed last, so the next slot is the line's. */
  #isLinesTurn = false

  /** Jobs that wait, in the line or to be tried again. */
  get jobs(): number {
    return this.#line.size + this.retrying
  }

  get retrying(): number {
    return this.#returned?.size ?? 0
  }

  join(job: JobRecord): void {
    this.#line.join(job)
    if (job.isTurn) this.turns = (this.turns ?? 0) + 1
    if (job.costs !== undefined) this.named = countNamed(this.named, job.costs, 1)
  }

  /** Puts back a job that is to be tried again from `job.readyAt` on, or that a freeze gave back. */
  rejoin(job: JobRecord): void {
    this.#returned ??= new ReturnedJobs()
    this.#returned.add(job)
    this.#hasMoved(job, 1)
  }

  /** Puts a job that a freeze gave back before all others, because it was at the head already. */
  rejoinFirst(job: JobRecord): void {
    job.readyAt = undefined
    this.rejoin(job)
  }

  leave(job: JobRecord): void {
    if (job.state === 'retrying') this.#leaveReturned(job)
    else this.#line.leave(job)
    if (job.isTurn) this.turns!--
    this.#hasMoved(job, -1)
  }

  /** Whether a job waits that may depart with the next slot, whenever that is. */
  get hasLine(): boolean {
    return this.#line.size > 0 || this.#firstGivenBack !== undefined
  }

  /** When the first retry is ready; Infinity: none waits. */
  get retryReadyAt(): number {
    return this.#returned?.retries.earliest ?? Number.POSITIVE_INFINITY
  }

  /** The job that departs first, if that is at `at`. */
  headAt(at: number): JobRecord {
    return this.#firstGivenBack ?? this.#readyRetry(at) ?? this.#line.first()!
  }

  /** Whether the job that would depart at `at` is a turn, which needs no handler. */
  isTurnNext(at: number): boolean {
    if ((this.#firstGivenBack ?? this.#readyRetry(at)) !== undefined) return false
    return this.#line.first()?.isTurn === true
  }

  /**
   * Takes out the job that departs now. Retries go before new jobs, but get at most half of the slots while new jobs
   * wait: a job that always fails cannot starve its bucket.
   */
  takeNext(now: number): JobRecord {
    const returned = this.#firstGivenBack ?? this.#readyRetry(now)
    if (returned === undefined) {
      this.#isLinesTurn = false
      const first = this.#line.next()!
      if (first.isTurn) this.turns!--
      this.#hasMoved(first, -1)
      return first
    }
    if (returned.readyAt !== undefined) this.#isLinesTurn = true
    this.#leaveReturned(returned)
    this.#hasMoved(returned, -1)
    return returned
  }

  /**
   * All waiting jobs in the expected order of departure. `from` is when the next may depart, which decides which retries are
   * ready by then; without it, as if the bucket never had to wait. The bucket must not change meanwhile.
   */
  *inOrder(from = Number.NEGATIVE_INFINITY): Generator<JobRecord> {
    const projection = projectionOf(this, from)
    for (const given of this.#returned?.givenBack.first() ?? []) {
      yield given
      advance(projection, this.limit, given)
    }
    const retries = this.#returned?.retries.first()
    let retry = nextOf(retries)
    let isLinesTurn = this.#isLinesTurn
    for (const waiting of this.#line) {
      if (!isLinesTurn && retry !== undefined && retry.readyAt! <= projection.slot) {
        yield retry
        advance(projection, this.limit, retry)
        retry = nextOf(retries)
      }
      isLinesTurn = false
      yield waiting
      advance(projection, this.limit, waiting)
    }
    for (; retry !== undefined; retry = nextOf(retries)) yield retry
  }

  /** All waiting jobs, as a verdict needs them, which may go along them twice: without retries that is the line itself. */
  line(now: number): Iterable<WaitingJob> {
    return this.retrying === 0 ? this.#line : { [Symbol.iterator]: () => this.inOrder(now) }
  }

  /** The jobs whose attempt failed, as a verdict needs them. */
  get retries(): Retries | undefined {
    if (this.#returned === undefined) return undefined
    const { retries: heap, retryUnits: units } = this.#returned
    if (heap.size === 0) return undefined
    return {
      size: heap.size,
      units,
      gaps: this.#line.size + (this.#isLinesTurn ? 0 : 1),
      latest: () => heap.latest,
      [Symbol.iterator]: () => heap.first() as Iterator<JobRecord & { readonly readyAt: number }>,
    }
  }

  /** How many jobs depart before a new one. */
  ahead(retriesAhead: number): number {
    return this.#line.size + (this.#returned?.givenBack.size ?? 0) + retriesAhead
  }

  /** What stands before a job of the line itself, without retries. */
  beforeInLine(job: JobRecord): Before {
    return this.#line.before(job)
  }

  /** How many jobs wait where, and their cost units. */
  get standing(): Standing {
    const line = { jobs: this.#line.size, units: this.waiting - this.returned }
    const { retries, retryUnits, givenBack, givenBackUnits } = this.#returned ?? NONE
    return {
      line,
      retries: { jobs: retries.size, units: retryUnits },
      givenBack: { jobs: givenBack.size, units: givenBackUnits },
    }
  }

  /** Jobs in the line, without retries. */
  get lineLength(): number {
    return this.#line.size
  }

  /** Cost units of the jobs that wait to be tried again. */
  get returned(): number {
    return this.#returned === undefined ? 0 : this.#returned.retryUnits + this.#returned.givenBackUnits
  }

  stateAt(now: number): BucketState {
    return bucketState(this.waiting, this.limit.capacity, this.paused, this.frozenUntil > now)
  }

  /** When the job that has waited longest was admitted; Infinity when none waits. The line is in that order. */
  firstAdmission(): number {
    let first = this.#line.first()?.admittedAt ?? Number.POSITIVE_INFINITY
    for (const { admittedAt } of this.#returned?.inOrder() ?? []) first = Math.min(first, admittedAt)
    return first
  }

  /** When the newest waiting job was admitted; -Infinity when none waits. */
  lastAdmission(): number {
    let last = this.#line.last()?.admittedAt ?? Number.NEGATIVE_INFINITY
    for (const { admittedAt } of this.#returned?.inOrder() ?? []) last = Math.max(last, admittedAt)
    return last
  }

  get #firstGivenBack(): JobRecord | undefined {
    return this.#returned?.givenBack.peek()
  }

  #readyRetry(now: number): JobRecord | undefined {
    const retries = this.#returned?.retries
    if (retries === undefined || retries.earliest > now) return undefined
    return this.#isLinesTurn && this.#line.size > 0 ? undefined : retries.peek()
  }

  /** A job went, or with 1 came back. */
  #hasMoved({ costs }: JobRecord, sign: 1 | -1): void {
    if (costs !== undefined) this.named = countNamed(this.named, costs, sign)
    this.forgetEnd()
  }

  #leaveReturned(job: JobRecord): void {
    const returned = this.#returned!
    returned.remove(job)
    if (returned.size === 0) this.#returned = undefined
  }
}

function nextOf(jobs: Iterator<JobRecord> | undefined): JobRecord | undefined {
  const next = jobs?.next()
  return next === undefined || next.done ? undefined : next.value
}

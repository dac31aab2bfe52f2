import { type Bucket, nextSlot, projectionOf } from '../../core/bucket.ts'
import { type Due, DueHeap } from '../../core/due-heap.ts'
import { type BucketState, bucketState } from '../../core/job.ts'
import type { Limit } from '../../core/limit.ts'
import { advance, type Retries, type WaitingJob } from '../../core/projection.ts'
import type { Rule } from '../../core/rule-book.ts'
import type { JobRecord } from './job-record.ts'
import { Line } from './line.ts'

/**
 * A live bucket: the numbers of the core, its line, and those of its jobs that wait to be tried again. One object for
 * all of it: with a million of them, every further one costs the collector and the cache.
 */
export class MemoryBucket implements Bucket, Due {
  readonly key: string
  pattern: string
  limit: Limit
  next = Number.NEGATIVE_INFINITY
  carry = 0
  frozenUntil = 0
  paused = false
  waiting = 0
  warmth = 0
  lastCost = 0
  lastWarmth = 0
  lastStart = Number.NEGATIVE_INFINITY
  startedCost = 0
  startedWarmth = 0
  running = 0
  /** Somebody's turn has come who has not gone on yet: until then nobody else departs. */
  isDeparting = false
  /** The heap that it stands in, of departures or of buckets to forget, and its handle there. */
  heap: DueHeap<MemoryBucket> | undefined = undefined
  handle = -1
  /** Whether the backend knows it, and whether a rule still governs it. */
  isKept = false
  isGoverned = true
  readonly #line = new Line<JobRecord>()
  /** Those whose attempt failed, by the time when they may be tried again. */
  #retries: DueHeap<JobRecord> | undefined = undefined
  /** Those whom a freeze gave back, in the order in which they had departed. */
  #givenBack: DueHeap<JobRecord> | undefined = undefined
  /** A retry departed last, so that the line has the next slot. */
  #isLinesTurn = false
  /** Cost units of all retries, and of all that a freeze gave back. */
  #retryUnits = 0
  #givenBackUnits = 0

  constructor(key: string, rule: Rule) {
    this.key = key
    this.pattern = rule.pattern
    this.limit = rule.limit
  }

  /** Jobs that wait, in the line or to be tried again. */
  get jobs(): number {
    return this.#line.size + this.retrying
  }

  get retrying(): number {
    return (this.#retries?.size ?? 0) + (this.#givenBack?.size ?? 0)
  }

  join(job: JobRecord): void {
    this.#line.join(job)
  }

  /** Waits to be tried again from `job.readyAt` on. */
  rejoin(job: JobRecord): void {
    this.#retries ??= new DueHeap()
    this.#retries.set(job, job.readyAt!)
    this.#retryUnits += job.cost
  }

  /** One that a freeze gave back goes before everyone else, for it was at the head already. */
  rejoinFirst(job: JobRecord): void {
    job.readyAt = undefined
    this.#givenBack ??= new DueHeap()
    this.#givenBack.set(job, job.fence)
    this.#givenBackUnits += job.cost
  }

  leave(job: JobRecord): void {
    if (job.state === 'retrying') this.#leaveReturned(job)
    else this.#line.leave(job)
  }

  /** Whether somebody waits who may depart with the next slot, whenever that is. */
  get hasLine(): boolean {
    return this.#line.size > 0 || this.#givenBack !== undefined
  }

  /** The slot, not before `from`, of the next departure; Infinity when nobody may depart. */
  nextDeparture(from: number): number {
    if (this.jobs === 0 || this.paused) return Number.POSITIVE_INFINITY
    const slot = nextSlot(this, from)
    return this.hasLine ? slot : Math.max(slot, this.#retries!.earliest)
  }

  /** Whether the one who would depart at `at` takes a turn, and so needs no handler. */
  isTurnNext(at: number): boolean {
    if (this.retrying > 0 && (this.#givenBack !== undefined || this.#readyRetry(at) !== undefined))
      return false
    return this.#line.first()?.isTurn === true
  }

  /**
   * Takes out the job that departs now. Retries go before new jobs, but have at most every second slot while new
   * jobs wait: a job that always fails cannot starve its bucket.
   */
  takeNext(now: number): JobRecord {
    const returned = this.#givenBack?.peek() ?? this.#readyRetry(now)
    if (returned === undefined) {
      this.#isLinesTurn = false
      return this.#line.next()!
    }
    if (returned.readyAt !== undefined) this.#isLinesTurn = true
    this.#leaveReturned(returned)
    return returned
  }

  /**
   * Everyone who waits, in the order in which they depart as far as is known. `from` tells who of those to be tried again
   * is ready when the next departs; without it, as if the bucket had never to wait. The bucket must not change meanwhile.
   */
  *inOrder(from = Number.NEGATIVE_INFINITY): Generator<JobRecord> {
    const projection = projectionOf(this, from)
    for (const given of this.#givenBack?.first() ?? []) {
      yield given
      advance(projection, this.limit, given)
    }
    const retries = this.#retries?.first()
    let retry = nextOf(retries)
    let isLinesTurn = this.#isLinesTurn
    for (const guest of this.#line) {
      if (!isLinesTurn && retry !== undefined && retry.readyAt! <= projection.slot) {
        yield retry
        advance(projection, this.limit, retry)
        retry = nextOf(retries)
      }
      isLinesTurn = false
      yield guest
      advance(projection, this.limit, guest)
    }
    for (; retry !== undefined; retry = nextOf(retries)) yield retry
  }

  /** Everyone who waits, as a verdict needs them: without retries that is the line itself. */
  line(now: number): Iterable<WaitingJob> {
    return this.retrying === 0 ? this.#line : this.inOrder(now)
  }

  /** Those whose attempt failed, as a verdict needs them. */
  get retries(): Retries | undefined {
    const heap = this.#retries
    if (heap === undefined) return undefined
    return {
      size: heap.size,
      units: this.#retryUnits,
      gaps: this.#line.size + (this.#isLinesTurn ? 0 : 1),
      latest: () => heap.latest,
      [Symbol.iterator]: () => heap.first() as Iterator<JobRecord & { readonly readyAt: number }>,
    }
  }

  /** How many depart before a newcomer. */
  ahead(retriesAhead: number): number {
    return this.#line.size + (this.#givenBack?.size ?? 0) + retriesAhead
  }

  positionOf(job: JobRecord, now: number): number {
    let position = 0
    for (const waiting of this.inOrder(now)) {
      position++
      if (waiting === job) break
    }
    return position
  }

  /** Jobs in the line, without those that wait to be tried again. */
  get lineLength(): number {
    return this.#line.size
  }

  /** Cost units of those that wait to be tried again. */
  get returned(): number {
    return this.#retryUnits + this.#givenBackUnits
  }

  stateAt(now: number): BucketState {
    return bucketState(this.waiting, this.limit.capacity, this.paused, this.frozenUntil > now)
  }

  /** When the one who has waited longest was admitted; Infinity when nobody waits. The line stands in that order. */
  firstAdmission(): number {
    let first = this.#line.first()?.admittedAt ?? Number.POSITIVE_INFINITY
    if (this.retrying === 0) return first
    for (const { admittedAt } of this.#returned()) first = Math.min(first, admittedAt)
    return first
  }

  /** When the one of those who wait came that came last; -Infinity when nobody waits. */
  lastAdmission(): number {
    let last = this.#line.last()?.admittedAt ?? Number.NEGATIVE_INFINITY
    if (this.retrying === 0) return last
    for (const { admittedAt } of this.#returned()) last = Math.max(last, admittedAt)
    return last
  }

  #returned(): JobRecord[] {
    return [...byDue(this.#givenBack), ...byDue(this.#retries)]
  }

  #readyRetry(now: number): JobRecord | undefined {
    if (this.#isLinesTurn && this.#line.size > 0) return undefined
    return this.#retries !== undefined && this.#retries.earliest <= now ? this.#retries.peek() : undefined
  }

  #leaveReturned(job: JobRecord): void {
    const isRetry = job.readyAt !== undefined
    const heap = isRetry ? this.#retries! : this.#givenBack!
    heap.remove(job)
    if (isRetry) this.#retryUnits -= job.cost
    else this.#givenBackUnits -= job.cost
    if (heap.size > 0) return
    if (isRetry) this.#retries = undefined
    else this.#givenBack = undefined
  }
}

function byDue(heap: DueHeap<JobRecord> | undefined): JobRecord[] {
  return heap === undefined ? [] : heap.inOrder()
}

function nextOf(jobs: Iterator<JobRecord> | undefined): JobRecord | undefined {
  const next = jobs?.next()
  return next === undefined || next.done ? undefined : next.value
}

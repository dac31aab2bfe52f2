import { type Bucket, createBucket, nextSlot, type Waiting } from '../../core/bucket.ts'
import { type Due, DueHeap } from '../../core/due-heap.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { BucketState, BucketView } from '../../core/job.ts'
import { formatLimit } from '../../core/limit.ts'
import type { Rule } from '../../core/rule-book.ts'
import type { JobRecord } from './job-record.ts'
import { Line } from './line.ts'

/** A live bucket: the core's numbers, its line, and those of its jobs that wait to be tried again. */
export class MemoryBucket implements Due {
  readonly key: string
  readonly core: Bucket
  pattern: string
  /** The heap that it stands in, of departures or of buckets to forget, and its handle there. */
  heap: DueHeap<MemoryBucket> | undefined = undefined
  handle = -1
  running = 0
  /** Whether the backend knows it, and whether a rule still governs it. */
  isKept = false
  isGoverned = true
  lastUsedAt = Number.NEGATIVE_INFINITY
  readonly #line = new Line<JobRecord>()
  #retries: DueHeap<JobRecord> | undefined = undefined
  /** A retry departed last, so that the line has the next slot. */
  #isLinesTurn = false

  constructor(key: string, rule: Rule) {
    this.key = key
    this.pattern = rule.pattern
    this.core = createBucket(rule.limit)
  }

  /** Jobs that wait, in the line or to be tried again. */
  get jobs(): number {
    return this.#line.size + this.retrying
  }

  get retrying(): number {
    return this.#retries?.size ?? 0
  }

  join(job: JobRecord): void {
    this.#line.join(job)
  }

  /** Waits to be tried again from `job.readyAt` on. */
  rejoin(job: JobRecord): void {
    this.#retries ??= new DueHeap()
    this.#retries.set(job, job.readyAt!)
  }

  /** One that a freeze gave back goes before everyone else, for it was at the head already. */
  rejoinFirst(job: JobRecord): void {
    this.rejoin(job)
    this.#isLinesTurn = false
  }

  leave(job: JobRecord): void {
    if (job.state === 'retrying') this.#leaveRetries(job)
    else this.#line.leave(job)
  }

  /** Whether new jobs wait, as against jobs to be tried again. */
  get hasLine(): boolean {
    return this.#line.size > 0
  }

  /** The slot, not before `from`, of the next departure; Infinity when nobody may depart. */
  nextDeparture(from: number): number {
    if (this.jobs === 0 || this.core.paused) return Number.POSITIVE_INFINITY
    const slot = nextSlot(this.core, from)
    return this.#line.size > 0 ? slot : Math.max(slot, this.#retries!.earliest)
  }

  /**
   * Takes out the job that departs now. Retries go before new jobs, but have at most every second slot while new
   * jobs wait: a job that always fails cannot starve its bucket.
   */
  next(now: number): JobRecord {
    const retry = this.#retries?.peek()
    const isReady = retry !== undefined && retry.readyAt! <= now
    if (!isReady || (this.#isLinesTurn && this.#line.size > 0)) {
      this.#isLinesTurn = false
      return this.#line.next()!
    }
    this.#leaveRetries(retry)
    this.#isLinesTurn = true
    return retry
  }

  /** Everyone who waits, in the order in which they depart as far as is known. */
  *waiting(): Generator<JobRecord> {
    const retries = [...(this.#retries ?? [])].sort((a, b) => a.readyAt! - b.readyAt!)
    let isLinesTurn = this.#isLinesTurn
    let slot = nextSlot(this.core, Number.NEGATIVE_INFINITY)
    let next = 0
    for (const job of this.#line) {
      const retry = retries[next]
      if (!isLinesTurn && retry !== undefined && retry.readyAt! <= slot) {
        yield retry
        slot += this.core.limit.interval * retry.cost
        next++
      }
      isLinesTurn = false
      yield job
      slot += this.core.limit.interval * job.cost
    }
    yield* retries.slice(next)
  }

  /** The same as the core's verdict needs it; without retries, the line itself. */
  line(): Iterable<Waiting> {
    return this.#retries === undefined ? this.#line : this.waiting()
  }

  positionOf(job: JobRecord): number {
    let position = 0
    for (const waiting of this.waiting()) {
      position++
      if (waiting === job) break
    }
    return position
  }

  view(now: number): BucketView {
    const { core } = this
    const next = this.nextDeparture(now)
    const isFrozen = core.frozenUntil > now
    return {
      key: this.key,
      pattern: this.pattern,
      limit: formatLimit(core.limit),
      state: this.#stateAt(now),
      waiting: core.waiting,
      capacity: core.limit.capacity,
      fill: core.waiting / core.limit.capacity,
      jobs: this.#line.size,
      retrying: this.retrying,
      running: this.running,
      ...(Number.isFinite(next) && { nextDepartureAt: next / MILLISECOND }),
      oldestWaitMs: this.#oldestWait(now) / MILLISECOND,
      ...(isFrozen && { frozenUntil: core.frozenUntil / MILLISECOND }),
      paused: core.paused,
      lastUsedAt: this.lastUsedAt / MILLISECOND,
    }
  }

  #stateAt(now: number): BucketState {
    if (this.core.paused) return 'paused'
    if (this.core.frozenUntil > now) return 'frozen'
    if (this.core.waiting === 0) return 'idle'
    return this.core.waiting >= this.core.limit.capacity ? 'full' : 'waiting'
  }

  #oldestWait(now: number): number {
    let oldest = this.#line.first()?.admittedAt ?? now
    for (const retry of this.#retries ?? []) oldest = Math.min(oldest, retry.admittedAt)
    return now - oldest
  }

  #leaveRetries(job: JobRecord): void {
    this.#retries!.remove(job)
    if (this.#retries!.size === 0) this.#retries = undefined
  }
}

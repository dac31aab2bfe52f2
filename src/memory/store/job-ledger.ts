import { IdConflictError } from '../../core/errors.ts'
import type { HeapUse } from '../../core/heap-use.ts'
import type { EndState } from '../../core/job.ts'
import { sharesIds, twinName } from '../../core/job-name.ts'
import type { Costs } from '../../core/usage.ts'
import type { JobRequest } from '../../line/job.ts'
import type { Retention } from '../../line/options.ts'
import { EndedJobs } from './ended-jobs.ts'
import { JobRecord } from './job-record.ts'
import { idOfSlot, KnownJobs } from './known-jobs.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Every live job, the last jobs that ended, and counts of all that there have been. */
export class JobLedger {
  readonly #known = new KnownJobs()
  readonly #ended: EndedJobs
  readonly #use: HeapUse
  #admittedCount = 0
  #endedCount = 0
  #handedCount = 0
  #startedCount = 0
  #rejectedCount = 0
  /** Once there was a job that another first segment's id left no name but a longer one. */
  #hasTwins = false

  constructor(retention: Retention, use: HeapUse) {
    this.#use = use
    this.#ended = new EndedJobs(retention, (job) => this.#forget(job, job.bytes + job.bytesOfEnd))
  }

  /** Jobs that have not ended. */
  get live(): number {
    return this.#admittedCount - this.#endedCount
  }

  /** How many jobs were ever admitted; then attempts started, jobs ended, and requests rejected. */
  get admitted(): number {
    return this.#admittedCount
  }

  get started(): number {
    return this.#startedCount
  }

  get ended(): number {
    return this.#endedCount
  }

  get rejected(): number {
    return this.#rejectedCount
  }

  /** Jobs that were handed over and have not started. */
  get handed(): number {
    return this.#handedCount - this.#startedCount
  }

  countHanded(): void {
    this.#handedCount++
  }

  countRejection(): void {
    this.#rejectedCount++
  }

  /** Returns the number of the start. */
  countStart(): number {
    return ++this.#startedCount
  }

  /** The job of this id in the first segment of the key; without a key, the one that has the id for a name. */
  find(id: string, key?: string): JobRecord | undefined {
    const job = this.#known.get(id)
    if (key === undefined || (job !== undefined && sharesIds(job.key, key))) return job
    return this.#hasTwins ? this.#known.get(twinName(id, key)) : undefined
  }

  /** Adds a job that was admitted to a bucket that is kept. */
  add(request: JobRequest, bucket: MemoryBucket, now: number): JobRecord {
    const { id } = request
    const slot = id === undefined ? this.#known.takeSlot() : undefined
    const isTwin = id !== undefined && this.#known.get(id) !== undefined
    this.#hasTwins ||= isTwin
    const job = new JobRecord(id ?? idOfSlot(slot!), slot, bucket, request, now, isTwin)
    this.#known.add(job)
    this.#use.grow(bucket.use!, job.bytes)
    this.#admittedCount++
    return job
  }

  end(job: JobRecord, state: EndState, now: number): void {
    job.end(state, now)
    this.#endedCount++
    // Only its caller needs to know how a turn ended.
    if (job.isTurn) this.#forget(job, job.bytes)
    else {
      this.#use.grow(job.bucket.use!, job.bytesOfEnd)
      this.#ended.add(job, now)
    }
  }

  #forget(job: JobRecord, bytes: number): void {
    this.#known.delete(job)
    this.#use.release(job.bucket.use!, bytes)
  }

  /** The job that was admitted under the id of this request; it must be the same. @throws IdConflictError */
  known(request: JobRequest): JobRecord | undefined {
    const job = request.id === undefined ? undefined : this.find(request.id, request.key)
    // An id that we made up was never in a request, so this one belongs to another producer.
    if (job !== undefined && (job.answer === undefined || !isSameRequest(job, request))) {
      throw new IdConflictError(job.id)
    }
    return job
  }
}

type Asked = Pick<JobRequest, 'key' | 'cost' | 'costs' | 'data'>

/** Whether two requests under one id ask for one job. */
export function isSameRequest(a: Asked, b: Asked): boolean {
  return a.key === b.key && a.cost === b.cost && a.data === b.data && isSame(a.costs, b.costs)
}

/** Costs are in one order: equal ones are equal as text. */
function isSame(a: Costs | undefined, b: Costs | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

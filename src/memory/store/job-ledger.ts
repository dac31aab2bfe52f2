import type { Audit } from '../../conformance/history.ts'
import { IdConflictError } from '../../core/errors.ts'
import { type EndState, isEnded } from '../../core/job.ts'
import type { JobRequest } from '../../line/job.ts'
import { EndedJobs } from './ended-jobs.ts'
import { JobRecord } from './job-record.ts'
import { idOfSlot, LiveJobs } from './live-jobs.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Every live job, the last jobs that ended, and counts of all that there have been. */
export class JobLedger {
  readonly #live = new LiveJobs()
  readonly #ended: EndedJobs
  #admittedCount = 0
  #endedCount = 0
  #startedCount = 0
  #rejectedCount = 0

  constructor(keepFinished: number) {
    this.#ended = new EndedJobs(keepFinished)
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

  countRejection(): void {
    this.#rejectedCount++
  }

  /** Returns the number of the start. */
  countStart(): number {
    return ++this.#startedCount
  }

  get(id: string): JobRecord | undefined {
    return this.#live.get(id) ?? this.#ended.get(id)
  }

  /** Adds a job that was admitted. */
  add(request: JobRequest, bucket: MemoryBucket, now: number): JobRecord {
    const slot = request.id === undefined ? this.#live.takeSlot() : undefined
    const job = new JobRecord(request.id ?? idOfSlot(slot!), slot, bucket, request, now)
    this.#live.add(job)
    this.#admittedCount++
    return job
  }

  end(job: JobRecord, state: EndState, now: number): void {
    job.end(state, now)
    this.#endedCount++
    this.#live.delete(job)
    // Only its caller needs to know how a turn ended.
    if (!job.isTurn) this.#ended.add(job)
  }

  /** The job that was admitted under the id of this request; it must be the same. @throws IdConflictError */
  known(request: JobRequest): JobRecord | undefined {
    const job = request.id === undefined ? undefined : this.get(request.id)
    // An id that we made up was never in a request, so this one belongs to another producer.
    if (job !== undefined && (job.answer === undefined || !isSameRequest(job, request))) {
      throw new IdConflictError(job.id)
    }
    return job
  }

  audit(): Audit {
    const count = { waiting: 0, handed: 0, running: 0, retrying: 0 }
    for (const { state } of this.#live) if (!isEnded(state)) count[state]++
    return { admitted: this.#admittedCount, ...count, ended: this.#endedCount }
  }
}

type Asked = Pick<JobRequest, 'key' | 'cost' | 'data'>

/** Whether two requests under one id ask for one job. */
export function isSameRequest(a: Asked, b: Asked): boolean {
  return a.key === b.key && a.cost === b.cost && a.data === b.data
}

import { DueHeap } from '../../core/due-heap.ts'
import type { JobRecord } from './job-record.ts'

/** The jobs of a bucket that were started and wait again. */
export class ReturnedJobs {
  /** Those whose attempt failed, by the time when they may be tried again. */
  readonly retries = new DueHeap<JobRecord>()
  /** Those that a freeze gave back, in the order in which they had departed: they go before all others. */
  readonly givenBack = new DueHeap<JobRecord>()
  /** Cost units of each. */
  retryUnits = 0
  givenBackUnits = 0

  get size(): number {
    return this.retries.size + this.givenBack.size
  }

  /** The job may be tried again from `job.readyAt` on; without that, a freeze gave it back. */
  add(job: JobRecord): void {
    if (job.readyAt === undefined) {
      this.givenBack.set(job, job.fence)
      this.givenBackUnits += job.cost
    } else {
      this.retries.set(job, job.readyAt)
      this.retryUnits += job.cost
    }
  }

  remove(job: JobRecord): void {
    if (job.readyAt === undefined) {
      this.givenBack.remove(job)
      this.givenBackUnits -= job.cost
    } else {
      this.retries.remove(job)
      this.retryUnits -= job.cost
    }
  }

  /** All of them, those that were given back first. */
  inOrder(): JobRecord[] {
    return [...this.givenBack.inOrder(), ...this.retries.inOrder()]
  }
}

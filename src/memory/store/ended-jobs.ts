import { DueHeap } from '../../core/due-heap.ts'
import { firstSegment } from '../../core/key.ts'
import { RETENTION_UNIT, type Retention } from '../../line/options.ts'
import type { JobRecord } from './job-record.ts'

/** Jobs that one end forgets: more wait for the next one, so that no end takes long. */
const MOST_FORGOTTEN = 200

/** The ended jobs of one first segment. */
class Share {
  readonly head: string
  /** Its place among the shares, the largest first. */
  handle = -1
  units = 0
  #jobs: JobRecord[] = []
  #first = 0

  constructor(head: string) {
    this.head = head
  }

  get size(): number {
    return this.#jobs.length - this.#first
  }

  get oldest(): JobRecord | undefined {
    return this.#jobs[this.#first]
  }

  push(job: JobRecord): void {
    this.#jobs.push(job)
    this.units += unitsOf(job)
  }

  shift(): JobRecord {
    const job = this.#jobs[this.#first]!
    this.units -= unitsOf(job)
    this.#first++
    // Half of the array is free: moving the rest costs less than what was taken out.
    if (this.#first * 2 > this.#jobs.length) {
      this.#jobs = this.#jobs.slice(this.#first)
      this.#first = 0
    }
    return job
  }
}

/**
 * Which of the jobs that ended stay known, for views of them and so that their ids stay taken. Each first segment of keys has its own: at least its last
 * ones, and those that ended a short time ago. Where all together take too much room, the segment that has most gives up its
 * oldest: however many jobs one tenant ends, it forgets its own.
 */
export class EndedJobs {
  readonly #shares = new Map<string, Share>()
  readonly #largest = new DueHeap<Share>()
  readonly #retention: Retention
  readonly #onForgotten: (job: JobRecord) => void
  #units = 0

  /** @param onForgotten called for each job that is to be forgotten */
  constructor(retention: Retention, onForgotten: (job: JobRecord) => void) {
    this.#retention = retention
    this.#onForgotten = onForgotten
  }

  /** Adds a job that ends now. */
  add(job: JobRecord, now: number): void {
    const { jobs, time, most } = this.#retention
    if (jobs === 0) {
      this.#onForgotten(job)
      return
    }
    const share = this.#shareOf(job.key)
    share.push(job)
    this.#units += unitsOf(job)
    let left = MOST_FORGOTTEN
    while (share.size > jobs && share.oldest!.endedAt! <= now - time && left-- > 0) this.#forgetOldest(share)
    this.#largest.set(share, -share.units)
    while (this.#units > most && left-- > 0) this.#forgetOldest(this.#largest.peek()!)
  }

  #shareOf(key: string): Share {
    const head = firstSegment(key)
    const known = this.#shares.get(head)
    if (known !== undefined) return known
    const share = new Share(head)
    this.#shares.set(head, share)
    return share
  }

  #forgetOldest(share: Share): void {
    const job = share.shift()
    this.#units -= unitsOf(job)
    this.#onForgotten(job)
    if (share.size > 0) this.#largest.set(share, -share.units)
    else {
      this.#largest.remove(share)
      this.#shares.delete(share.head)
    }
  }
}

function unitsOf({ data, result = '' }: JobRecord): number {
  return 1 + Math.floor((beyond(data) + result.length) / RETENTION_UNIT)
}

/** Small data are part of a job. */
function beyond(data: string): number {
  return data.length > RETENTION_UNIT ? data.length : 0
}

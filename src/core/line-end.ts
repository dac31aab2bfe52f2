import { type Bucket, projectionOf } from './bucket.ts'
import type { Limit } from './limit.ts'
import type { Projection } from './projection.ts'
import type { CountedJob, Usage } from './usage.ts'
import { FARTHEST_STEP, Walk } from './walk.ts'

/**
 * The end of a line under a limit with quotas, behind the jobs that wait: the line is followed to it once, and not again for each
 * verdict until something departs, leaves, comes back or is settled. Jobs that join extend it.
 */
export class LineEnd {
  readonly #walk: Walk
  readonly #limit: Limit
  readonly #usage: Usage
  /** Where the way begins. While its head waits for a quota, a line may begin later, until then, and goes the same. */
  readonly #begin: Projection
  readonly #until: number
  #steps = 0
  /** Cost units of the jobs behind those that were followed. */
  #unread: number

  constructor(bucket: Bucket, usage: Usage, now: number, line: Iterable<CountedJob>) {
    this.#begin = projectionOf(bucket, now)
    this.#walk = new Walk(bucket.limit, this.#begin, usage)
    this.#limit = bucket.limit
    this.#usage = usage
    this.#unread = bucket.waiting
    let first = this.#begin.slot
    for (const job of line) {
      if (this.#steps === FARTHEST_STEP) break
      const at = this.#walk.depart(job)
      if (this.#steps++ === 0) first = at
      this.#unread -= job.cost
    }
    this.#until = first
  }

  /** Whether all jobs of the line were followed. */
  get isSeen(): boolean {
    return this.#unread === 0
  }

  /** Whether the bucket, of which no job has gone since, would be followed the same way now. */
  isOf(bucket: Bucket, now: number): boolean {
    if (bucket.limit !== this.#limit || bucket.usage !== this.#usage) return false
    const { slot, warmth } = projectionOf(bucket, now)
    // What is later and as warm was cold before.
    return warmth === this.#begin.warmth && slot >= this.#begin.slot && slot <= this.#until
  }

  /** When a job departs behind the line; a time before which it does not where not all of it was followed. */
  departureOf(job: CountedJob): number {
    return this.isSeen ? this.#walk.departureOf(job) : this.#walk.behind(this.#unread)
  }

  /** The job joins the line. */
  join(job: CountedJob): void {
    if (this.isSeen && this.#steps < FARTHEST_STEP) {
      this.#walk.depart(job)
      this.#steps++
    } else this.#unread += job.cost
  }
}

import { type Bucket, mayBeSettled, projectionOf } from './bucket.ts'
import type { Limit } from './limit.ts'
import type { Projection } from './projection.ts'
import type { CountedJob, Usage } from './usage.ts'
import { type Departure, FARTHEST_STEP, Walk } from './walk.ts'

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
  /** Whether starts that count may still be settled. */
  readonly #isOpen: boolean
  #steps = 0
  /** Cost units of the jobs behind those that were followed. */
  #unread: number
  /** The same on the earliest way. */
  #soonest: LineEnd | undefined

  constructor(bucket: Bucket, usage: Usage, now: number, line: Iterable<CountedJob>, isSoonest = false) {
    this.#begin = projectionOf(bucket, now)
    this.#isOpen = mayBeSettled(bucket, now)
    this.#walk = new Walk(bucket.limit, this.#begin, usage, { isOpen: this.#isOpen, isSoonest })
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
    if (mayBeSettled(bucket, now) !== this.#isOpen) return false
    const { slot, warmth } = projectionOf(bucket, now)
    // What is later and as warm was cold before.
    return warmth === this.#begin.warmth && slot >= this.#begin.slot && slot <= this.#until
  }

  /** When a job departs behind the line; a time before which it does not where not all of it was followed. */
  departureOf(job: CountedJob): Departure {
    if (this.isSeen) return this.#walk.departureOf(job)
    return { at: this.#walk.behind(this.#unread), mayBeEarlier: this.#walk.mayBeEarlier }
  }

  /** A time before which the job certainly does not depart, whatever is settled. `line`: the jobs that wait now. */
  soonestOf(job: CountedJob, bucket: Bucket, now: number, line: Iterable<CountedJob>): number {
    if (!this.#soonest?.isOf(bucket, now)) this.#soonest = new LineEnd(bucket, this.#usage, now, line, true)
    return this.#soonest.departureOf(job).at
  }

  /** The job joins the line. */
  join(job: CountedJob): void {
    this.#soonest?.join(job)
    if (this.isSeen && this.#steps < FARTHEST_STEP) {
      this.#walk.depart(job)
      this.#steps++
    } else this.#unread += job.cost
  }
}

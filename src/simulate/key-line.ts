import { type Bucket, createBucket, depart, isIdle, nextSlot, reserve } from '../core/bucket.ts'
import { hasParts, type Limit } from '../core/limit.ts'
import type { Quota } from '../core/quota.ts'
import { type Costs, charge, chargesOf, tidy } from '../core/usage.ts'
import { admit, type RejectReason } from '../core/verdict.ts'
import { NANOSECOND } from './arrival.ts'
import { DeparturePlan, type Hold } from './departure-plan.ts'

/** The admission verdict; times in microseconds. */
export type Outcome =
  /** `position` 1 is the next to depart. */
  | {
      readonly accepted: true
      readonly position: number
      readonly departsAt: number
      /** What will keep it at the head of its line; only under a limit of several parts. */
      readonly holds?: readonly Hold[]
    }
  /** `retryAt` is infinite for a cost that can never fit; `exceeded`: the quota that the job alone exceeds, if it is not the capacity. */
  | {
      readonly accepted: false
      readonly reason: RejectReason
      readonly retryAt: number
      readonly exceeded?: Quota
    }

/** A waiting job. */
interface WaitingJob {
  readonly cost: number
  readonly costs?: Costs | undefined
  readonly arrivedAt: number
  /** When it departs; only under a limit of several parts. */
  readonly departsAt?: number | undefined
}

/** A bucket and its waiting jobs, on a clock that advances with the arrivals. Handlers are free unless places bound them. */
export class KeyLine {
  readonly #bucket: Bucket
  /** Undefined under a limit that has only a pace. */
  readonly #plan: DeparturePlan | undefined
  #line: WaitingJob[] = []
  #head = 0

  /** @param duration how long a handler holds its place, in microseconds */
  constructor(limit: Limit, duration = 0) {
    this.#bucket = createBucket(limit)
    this.#plan = hasParts(limit) ? new DeparturePlan(limit, duration) : undefined
  }

  get limit(): Limit {
    return this.#bucket.limit
  }

  /** Cost units that wait. */
  get waiting(): number {
    return this.#bucket.waiting
  }

  /** Judges a new job at `now`, which never goes back. */
  offer(cost: number, now: number, costs?: Costs): Outcome {
    this.#settle(now)
    const request = { cost, costs, deadline: Number.POSITIVE_INFINITY }
    const verdict = admit(this.#bucket, request, now, this.#waiting())
    if (!verdict.accepted) return verdict
    const planned = this.#plan?.add({ cost, costs }, now)
    this.#line.push({ cost, costs, arrivedAt: now, departsAt: planned?.departsAt })
    const position = this.#line.length - this.#head
    this.#settle(now)
    return { accepted: true, position, departsAt: verdict.departsAt, ...planned }
  }

  isOver(now: number): boolean {
    this.#settle(now)
    return isIdle(this.#bucket, now) && (this.#plan?.isOverAt ?? now) <= now
  }

  /** Removes jobs with a departure at or before `now`. */
  #settle(now: number): void {
    for (let first = this.#line[this.#head]; first !== undefined; first = this.#line[this.#head]) {
      const { cost, arrivedAt, departsAt = nextSlot(this.#bucket, arrivedAt) } = first
      if (departsAt > now + NANOSECOND) break
      depart(this.#bucket, cost, reserve(this.#bucket, cost, first.departsAt ?? arrivedAt))
      this.#count(first, departsAt)
      this.#head++
    }
    const { limit, usage } = this.#bucket
    if (usage !== undefined) tidy(limit, usage, now)
    // Cut only when half is gone, so that a departure costs the same whatever the length of the line.
    if (this.#head > this.#line.length / 2) {
      this.#line = this.#line.slice(this.#head)
      this.#head = 0
    }
  }

  #count(job: WaitingJob, at: number): void {
    const { limit, usage } = this.#bucket
    if (usage !== undefined) charge(limit, usage, chargesOf(limit, job), at)
  }

  *#waiting(): Generator<WaitingJob> {
    for (let index = this.#head; index < this.#line.length; index++) yield this.#line[index]!
  }
}

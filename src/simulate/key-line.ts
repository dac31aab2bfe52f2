import { type Bucket, createBucket, depart, isIdle, nextSlot, reserve } from '../core/bucket.ts'
import type { Limit } from '../core/limit.ts'
import { admit, type RejectReason } from '../core/verdict.ts'
import { NANOSECOND } from './arrival.ts'

/** The admission verdict; times in microseconds. */
export type Outcome =
  /** `position` 1 is the next to depart. */
  | { readonly accepted: true; readonly position: number; readonly departsAt: number }
  /** `retryAt` is infinite for a cost that can never fit. */
  | { readonly accepted: false; readonly reason: RejectReason; readonly retryAt: number }

/** A waiting job. */
interface WaitingJob {
  readonly cost: number
  readonly arrivedAt: number
}

/** A bucket and its waiting jobs, on a clock that advances with the arrivals. Handlers are always free. */
export class KeyLine {
  readonly #bucket: Bucket
  #line: WaitingJob[] = []
  #head = 0

  constructor(limit: Limit) {
    this.#bucket = createBucket(limit)
  }

  get limit(): Limit {
    return this.#bucket.limit
  }

  /** Cost units that wait. */
  get waiting(): number {
    return this.#bucket.waiting
  }

  /** Judges a new job at `now`, which never goes back. */
  offer(cost: number, now: number): Outcome {
    this.#settle(now)
    const verdict = admit(this.#bucket, { cost, deadline: Number.POSITIVE_INFINITY }, now, this.#waiting())
    if (!verdict.accepted) return verdict
    this.#line.push({ cost, arrivedAt: now })
    const position = this.#line.length - this.#head
    this.#settle(now)
    return { accepted: true, position, departsAt: verdict.departsAt }
  }

  isOver(now: number): boolean {
    this.#settle(now)
    return isIdle(this.#bucket, now)
  }

  /** Removes jobs with a departure at or before `now`. */
  #settle(now: number): void {
    for (let first = this.#line[this.#head]; first !== undefined; first = this.#line[this.#head]) {
      if (nextSlot(this.#bucket, first.arrivedAt) > now + NANOSECOND) break
      depart(this.#bucket, first.cost, reserve(this.#bucket, first.cost, first.arrivedAt))
      this.#head++
    }
    // Cut only when half is gone, so that a departure costs the same whatever the length of the line.
    if (this.#head > this.#line.length / 2) {
      this.#line = this.#line.slice(this.#head)
      this.#head = 0
    }
  }

  *#waiting(): Generator<WaitingJob> {
    for (let index = this.#head; index < this.#line.length; index++) yield this.#line[index]!
  }
}

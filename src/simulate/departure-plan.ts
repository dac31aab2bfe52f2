import { type Bucket, createBucket, nextSlot, reserve } from '../core/bucket.ts'
import type { Limit } from '../core/limit.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import { type CountedJob, charge, chargesOf, holdOf, tidy } from '../core/usage.ts'

/** What kept a job at the head of its line, and for how long; microseconds. */
export interface Hold {
  /** `pace`, a quota as text such as `2000/day`, or `50 at once`. */
  readonly part: string
  readonly time: number
}

export interface PlannedDeparture {
  readonly departsAt: number
  /** Empty where nothing kept it. */
  readonly holds: readonly Hold[]
}

/**
 * When each job of a line under several limits departs. A line keeps its order, and what comes later changes nothing before it,
 * so that the departure of a job is known when it is accepted.
 */
export class DeparturePlan {
  readonly #limit: Limit
  readonly #bucket: Bucket
  /** How long each job holds its place, in microseconds. */
  readonly #duration: number
  /** The last departures, one for each place, the earliest first from `#oldest` on. */
  readonly #starts: number[] = []
  #oldest = 0
  #last = Number.NEGATIVE_INFINITY

  constructor(limit: Limit, duration: number) {
    this.#limit = limit
    this.#bucket = createBucket(limit)
    this.#duration = duration
  }

  /** When the last place is free again. */
  get isOverAt(): number {
    return Number.isFinite(this.#limit.concurrency) ? this.#last + this.#duration : this.#last
  }

  add(job: CountedJob, arrivedAt: number): PlannedDeparture {
    const limit = this.#limit
    const usage = this.#bucket.usage ?? []
    const charges = chargesOf(limit, job)
    // Before that, other jobs were at the head of the line.
    const atHead = Math.max(arrivedAt, this.#last)
    const byPace = nextSlot(this.#bucket, arrivedAt)
    tidy(limit, usage, byPace)
    const placeAt = this.#placeAt()
    const before = Math.max(byPace, placeAt)
    const hold = holdOf(limit, usage, charges, before)
    const departsAt = hold?.until ?? before
    charge(limit, usage, charges, departsAt)
    reserve(this.#bucket, job.cost, departsAt)
    this.#take(departsAt)
    this.#last = departsAt
    const ends: Hold[] = [
      { part: 'pace', time: byPace - atHead },
      { part: `${limit.concurrency} at once`, time: before - Math.max(byPace, atHead) },
      ...(hold
        ? [{ part: nameOfQuota(limit.quotas[hold.index]!), time: departsAt - Math.max(before, atHead) }]
        : []),
    ]
    return { departsAt, holds: ends.filter(({ time }) => time > 0) }
  }

  #placeAt(): number {
    if (this.#starts.length < this.#limit.concurrency) return Number.NEGATIVE_INFINITY
    return this.#starts[this.#oldest]! + this.#duration
  }

  #take(at: number): void {
    if (this.#limit.concurrency === Number.POSITIVE_INFINITY) return
    if (this.#starts.length < this.#limit.concurrency) this.#starts.push(at)
    else {
      this.#starts[this.#oldest] = at
      this.#oldest = (this.#oldest + 1) % this.#limit.concurrency
    }
  }
}

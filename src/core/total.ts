import * as buckets from './bucket.ts'
import { type FairChild, FairQueue } from './fair-queue.ts'
import type { Limit } from './limit.ts'
import { lengthOf } from './quota.ts'
import * as usages from './usage.ts'

/** A bucket, as the totals above it see it. */
export interface TotalledBucket extends FairChild {
  /** The innermost total above it. */
  readonly total: Total
  /**
   * When its own limits let its next departure go, if that is the one of `now` or later; also if that time has passed. Infinity: not
   * before something changes; undefined: nothing waits, or it is paused.
   */
  dueAt(now: number): number | undefined
  readonly frozenUntil: number
  /** Cost units that wait. */
  readonly waiting: number
  /** What the departure at `at` counts. */
  headAt(at: number): usages.Counted
}

export type Child = Total | TotalledBucket

export interface TotalOptions {
  readonly pattern: string
  readonly path: string
  readonly limit: Limit
  readonly parent?: Total | undefined
}

/**
 * A total: one limit for the sum of a family, which its children share fairly. A child is a bucket, or a total below it with a family
 * of its own. Totals nest: a bucket departs at the latest of the times that its own limit and all totals above it allow, and the
 * departure counts in all of them.
 *
 * Who departs is chosen from the outermost total down, by tag. Whom its own limit holds back is passed over; whom only the total holds
 * back is waited for, so that a large job is not kept waiting by small ones for ever.
 */
export class Total implements FairChild {
  handle = -1
  tag = 0
  standing: FairChild['standing'] = 'gone'
  weight: number
  pattern: string
  /** How the keys of this family begin, such as `stripe/eu/`; the key without the slash belongs to it, too. */
  readonly path: string
  /** The total of which this one is a child. */
  parent: Total | undefined
  queue = new FairQueue<Child>()
  /** Its pace and quotas, what waits below it, its freeze and pause. */
  readonly bucket: buckets.Bucket
  /** Attempts that run below it, and turns that hold a place. */
  running = 0
  /** The caller of a turn below it has departed and not continued yet: until then nothing departs. */
  isDeparting = false

  constructor({ pattern, path, limit, parent }: TotalOptions) {
    this.pattern = pattern
    this.path = path
    this.weight = limit.weight
    this.parent = parent
    this.bucket = buckets.createBucket(limit)
  }

  get frozenUntil(): number {
    return this.bucket.frozenUntil
  }

  get waiting(): number {
    return this.bucket.waiting
  }

  /** When it lets the child go whose turn it is, as for a bucket. */
  dueAt(now: number): number | undefined {
    const { queue, bucket } = this
    const { next, nextLater, laterAt } = queue
    if (bucket.paused || (next === undefined && nextLater === undefined)) return undefined
    return this.#allowedFrom(next?.dueAt(now) ?? laterAt, now)
  }

  /** Whether it lets a job go by now, if one below it may. */
  isOpen(now: number): boolean {
    return !this.bucket.paused && this.#allowedFrom(Number.NEGATIVE_INFINITY, now) <= now
  }

  #allowedFrom(ready: number, now: number): number {
    const { queue, bucket, running } = this
    if (running >= bucket.limit.concurrency || this.isDeparting) return Number.POSITIVE_INFINITY
    const from = buckets.nextSlot(bucket, ready)
    if (queue.next === undefined || bucket.usage === undefined) return from
    // Another job may be first by now than the one that was, and need more.
    const soonest = Math.max(from, now)
    const head = this.headAt(soonest)
    // Below the one that is next all were moved away, and it does not know yet.
    if (head === undefined) return from
    const at = usages.roomAt(bucket.limit, bucket.usage, usages.chargesOf(bucket.limit, head), soonest)
    // Meanwhile another may come whose turn is first, and which may need less.
    return at === soonest ? from : Math.max(soonest, Math.min(at, this.#joinsAt))
  }

  /** When one joins next below it, or below the total that is next. */
  get #joinsAt(): number {
    const { next, laterAt } = this.queue
    return next instanceof Total ? Math.min(laterAt, next.#joinsAt) : laterAt
  }

  /** The bucket below it whose turn it is; undefined: none can go before a time, or it is to be seen which. */
  get head(): TotalledBucket | undefined {
    const { next } = this.queue
    return next instanceof Total ? next.head : next
  }

  headAt(at: number): usages.Counted | undefined {
    return (this.queue.next ?? this.queue.nextLater)?.headAt(at)
  }
}

/** Yields the totals above a bucket or a total, from the inside out. */
export function* totalsAbove(child: Child): Generator<Total> {
  for (let total = parentOf(child); total !== undefined; total = total.parent) yield total
}

/**
 * What a departure uses of a limit, in cost units: by the part of which it takes most, so that few calls with many tokens use as much
 * as many with few. What it uses of a pace alone does not change with the pace.
 */
export function useOf(limit: Limit, job: usages.Counted): number {
  let use = job.cost
  for (const [index, units] of usages.chargesOf(limit, job).entries()) {
    const { amount, window } = limit.quotas[index]!
    use = Math.max(use, (units * lengthOf(window)) / (amount * limit.interval))
  }
  return use
}

/** The total right above; undefined: it is the outermost. */
export function parentOf(child: Child): Total | undefined {
  return child instanceof Total ? child.parent : child.total
}

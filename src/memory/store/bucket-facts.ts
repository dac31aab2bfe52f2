import { nextSlot } from '../../core/bucket.ts'
import type { BucketState, BucketView } from '../../core/bucket-view.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { hasParts, type Limit } from '../../core/limit.ts'
import { formatLimit } from '../../core/limit-format.ts'
import { roomAt, usedAt } from '../../core/quota.ts'
import { notBefore } from '../../core/total-place.ts'
import { type Counted, chargesOf, holdOf, type Usage } from '../../core/usage.ts'
import type { BucketFacts } from '../../line/bucket-order.ts'
import type { LineHold } from '../../line/job-facts.ts'
import { partsView } from '../../line/parts-view.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import { nextDeparture } from './next-departure.ts'

/**
 * The facts of a bucket at one time, each computed when it is read: a walk over a million buckets reads a field or two of
 * each, with one object for all.
 */
export class FactsAt implements BucketFacts {
  readonly #now: number
  #bucket!: MemoryBucket

  constructor(now: number) {
    this.#now = now
  }

  /** Valid until the next call. */
  of(bucket: MemoryBucket): this {
    this.#bucket = bucket
    return this
  }

  get key(): string {
    return this.#bucket.key
  }

  get pattern(): string {
    return this.#bucket.pattern
  }

  get state(): BucketState {
    return this.#bucket.stateAt(this.#now)
  }

  get fill(): number {
    return this.#bucket.waiting / this.#bucket.limit.capacity
  }

  get waiting(): number {
    return this.#bucket.waiting
  }

  get capacity(): number {
    return this.#bucket.limit.capacity
  }

  get jobs(): number {
    return this.#bucket.lineLength
  }

  get retrying(): number {
    return this.#bucket.retrying
  }

  get running(): number {
    return this.#bucket.running
  }

  get nextDepartureAt(): number | undefined {
    const { member } = this.#bucket
    const own = nextDeparture(this.#bucket, this.#now)
    return finite(member === undefined ? own : notBefore(member, own, this.#now))
  }

  get oldestWaitMs(): number {
    return Math.max(0, this.#now - this.#bucket.firstAdmission()) / MILLISECOND
  }

  get waitingSince(): number | undefined {
    return finite(this.#bucket.firstAdmission())
  }

  get lastUsedAt(): number | undefined {
    return finite(Math.max(this.#bucket.lastStart, this.#bucket.lastAdmission()))
  }
}

export function viewOf(bucket: MemoryBucket, now: number): BucketView {
  const facts = new FactsAt(now).of(bucket)
  const { nextDepartureAt, waitingSince, lastUsedAt } = facts
  return {
    key: facts.key,
    pattern: facts.pattern,
    limit: formatLimit(bucket.limit),
    state: facts.state,
    waiting: facts.waiting,
    capacity: facts.capacity,
    fill: facts.fill,
    jobs: facts.jobs,
    retrying: facts.retrying,
    running: facts.running,
    ...(bucket.member !== undefined && { total: bucket.member.total.path }),
    ...(nextDepartureAt !== undefined && { nextDepartureAt }),
    oldestWaitMs: facts.oldestWaitMs,
    ...(waitingSince !== undefined && { waitingSince }),
    ...(bucket.frozenUntil > now && { frozenUntil: bucket.frozenUntil / MILLISECOND }),
    paused: bucket.paused,
    ...(hasParts(bucket.limit) && partsOf(bucket, now)),
    ...(lastUsedAt !== undefined && { lastUsedAt }),
    durability: 'memory',
  }
}

function partsOf(bucket: MemoryBucket, now: number) {
  const { limit, usage, placesTaken, lineLength, retrying, paused, frozenUntil } = bucket
  const departsAt = nextDeparture(bucket, now)
  const quota = quotaOf(bucket, departsAt, now)
  const isFull = placesTaken >= limit.concurrency
  const backsOff = lineLength === 0
  const head = { ahead: 0, departsAt, quota, paused, frozenUntil, isFull, backsOff }
  return partsView(
    limit,
    quotaCounts(limit, usage, now),
    placesTaken,
    lineLength + retrying > 0 ? head : undefined,
    now,
  )
}

/** The quota for which the head of the line waits until it departs. */
function quotaOf(bucket: MemoryBucket, departsAt: number, now: number): LineHold | undefined {
  const { limit, usage } = bucket
  if (usage === undefined || departsAt === Number.POSITIVE_INFINITY) return undefined
  return holdAt(limit, usage, bucket.headAt(departsAt), nextSlot(bucket, now), departsAt)
}

/** The quota for which a job that could go from `slot` on waits until it departs. */
export function holdAt(
  limit: Limit,
  usage: Usage,
  job: Counted,
  slot: number,
  departsAt: number,
): LineHold | undefined {
  const hold = holdOf(limit, usage, chargesOf(limit, job), slot)
  return hold?.until === departsAt ? { ...hold, isOwn: true } : undefined
}

/** What each quota of a limit counts, and when one more job has room. */
export function quotaCounts({ quotas }: Limit, usage: Usage | undefined, now: number) {
  return quotas.map((quota, index) => {
    const use = usage![index]!
    return { used: usedAt(quota, use, now), roomAt: roomAt(quota, use, quota.each ?? 1, now) }
  })
}

/** In milliseconds; undefined for a time that is none. */
function finite(time: number): number | undefined {
  return Number.isFinite(time) ? time / MILLISECOND : undefined
}

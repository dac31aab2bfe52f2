import * as buckets from './bucket.ts'
import { type FairChild, FairQueue } from './fair-queue.ts'
import { hasParts, type Limit } from './limit.ts'
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
 * A child may grow while what waits in it is at most so many times the room that is left (dynamic thresholds; Choudhury and Hahne, 1998):
 * alone it may have four fifths of the line, and a flood always leaves room for the others.
 */
export const SHARE_OF_ROOM = 4

/** Children that become due together join in slices of so many. */
const MOST_WOKEN = 200

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
    const { queue, bucket, running } = this
    const { next, laterAt: later } = queue
    if (bucket.paused || (next === undefined && queue.nextLater === undefined)) return undefined
    if (running >= bucket.limit.concurrency || this.isDeparting) return Number.POSITIVE_INFINITY
    const from = buckets.nextSlot(bucket, next?.dueAt(now) ?? later)
    const { head } = this
    if (head === undefined || bucket.usage === undefined) return from
    // Another job may be first by now than the one that was, and need more.
    const soonest = Math.max(from, now)
    const charges = usages.chargesOf(bucket.limit, head.headAt(soonest))
    const at = usages.roomAt(bucket.limit, bucket.usage, charges, soonest)
    // Meanwhile another may come whose turn is first, and which may need less.
    return at === soonest ? from : Math.max(soonest, Math.min(at, later))
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

/** A total that has no room for a job. */
export interface FullTotal {
  readonly total: Total
  /** It has room when so many units have departed, if all are of the child. */
  readonly own: number
  /** The same, if all are of others. */
  readonly others: number
}

/** The total above the bucket that has no room for a job of this cost, from the inside out; undefined: all have. */
export function fullAbove(bucket: TotalledBucket, cost: number): FullTotal | undefined {
  let child: Child = bucket
  for (const total of totalsAbove(bucket)) {
    const room = total.bucket.limit.capacity - total.waiting
    const asked = child.waiting + cost
    const others = Math.max(cost - room, Math.ceil(asked / SHARE_OF_ROOM) - room)
    const own = Math.max(cost - room, Math.ceil((asked - SHARE_OF_ROOM * room) / (1 + SHARE_OF_ROOM)))
    if (others > 0) return { total, own, others }
    child = total
  }
  return undefined
}

/** All totals above the bucket count that a job of it waits. It counts until it departs, or is said to leave. */
export function joinUnder(bucket: TotalledBucket, job: usages.Counted): void {
  let child: Child = bucket
  for (const total of totalsAbove(bucket)) {
    total.bucket.waiting += job.cost
    total.queue.note(child, useOf(total.bucket.limit, job))
    child = total
  }
}

export function leaveUnder(bucket: TotalledBucket, cost: number): void {
  for (const total of totalsAbove(bucket)) buckets.leave(total.bucket, cost)
}

/**
 * How long the last of so many units that wait in the bucket waits at most, if nobody comes who has no line now, in microseconds;
 * undefined: a total above it has quotas or places, or is frozen or paused, or the bucket is not among those that share.
 *
 * @param own how long it would wait by the limit of its bucket alone
 */
export function waitAtMost(
  bucket: TotalledBucket,
  units: number,
  own: number,
  now: number,
): number | undefined {
  let wait = own
  let child: Child = bucket
  let needed = units
  for (const total of totalsAbove(bucket)) {
    const { queue, bucket: shared } = total
    const { limit } = shared
    if (hasParts(limit) || shared.paused || shared.frozenUntil > now) return undefined
    if (child.standing !== 'ready' && child.standing !== 'held') return undefined
    // The child is at most that far behind its share, as it joins, as others go, and as it comes back from its own limits.
    const ahead = queue.weights * (needed / child.weight + 3 * queue.largest)
    wait += Math.max(0, buckets.nextSlot(shared, now) - now) + ahead * limit.interval
    needed = ahead
    child = total
  }
  return wait
}

/** Tells the totals above a child that it stands elsewhere: something came, went, froze, or its own limits changed. */
export function stand(child: Child, now: number): void {
  const total = parentOf(child)
  if (total === undefined) return
  place(child, total, now)
  stand(total, now)
}

/**
 * The bucket that departs next, if one is due by `now` under the outermost total, and since when; or when to ask again, Infinity: when
 * something changes.
 */
export function nextUnder(
  outermost: Total,
  now: number,
): { readonly bucket?: TotalledBucket; readonly due: number } {
  bringUp(outermost, now)
  const { head, queue } = outermost
  const due = outermost.dueAt(now) ?? Number.POSITIVE_INFINITY
  return due <= now && head !== undefined ? { bucket: head, due } : { due: due <= now ? queue.laterAt : due }
}

/**
 * All totals above the bucket reserve their next slot for a job of it that departs at `now` and was due since `due`. Quotas are charged
 * apart. Then the bucket must `stand` anew.
 *
 * @returns the slots, from the inside out
 */
export function departUnder(
  bucket: TotalledBucket,
  job: usages.Counted,
  due: number,
  now: number,
): readonly TotalSlot[] {
  const slots: TotalSlot[] = []
  let child: Child = bucket
  for (const total of totalsAbove(bucket)) {
    slots.push({ total, slot: buckets.reserveDue(total.bucket, job.cost, due, now) })
    buckets.depart(total.bucket, job.cost, now)
    total.running += 1
    total.queue.serve(child, useOf(total.bucket.limit, job))
    child = total
  }
  return slots
}

/** What a departure took of a total. */
export interface TotalSlot {
  readonly total: Total
  readonly slot: number
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

function parentOf(child: Child): Total | undefined {
  return child instanceof Total ? child.parent : child.total
}

function place(child: Child, total: Total, now: number): void {
  const { queue } = total
  const { standing, frozenUntil } = child
  const due = child.dueAt(now)
  const takesPart = standing === 'ready' || standing === 'held'
  if (due === undefined) {
    if (takesPart || standing === 'frozen') queue.leave(child)
  } else if (frozenUntil > now) queue.freeze(child, frozenUntil)
  else {
    if (!takesPart) {
      if (total.bucket.next <= now) queue.rest()
      queue.join(child, useOf(total.bucket.limit, child.headAt(Math.max(now, due))!))
    }
    if (due > now) queue.hold(child, due)
    else if (child.standing === 'held') queue.release(child)
  }
}

/** Lets those join below the total, and below the one that is next, whose time has come; a bounded number at a time. */
function bringUp(total: Total, now: number): void {
  const { queue } = total
  for (let count = 0; count < MOST_WOKEN; count++) {
    const child = queue.laterAt <= now ? queue.nextLater! : queue.next
    if (child instanceof Total) bringUp(child, now)
    else if (child === queue.next) return
    const { standing } = child!
    place(child!, total, now)
    // It is next and stays so.
    if (standing === 'ready' && child === queue.next && queue.laterAt > now) return
  }
}

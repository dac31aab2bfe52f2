import * as buckets from './bucket.ts'
import { isSteady } from './limit.ts'
import { type Child, type Total, type TotalledBucket, totalsAbove, useOf } from './total.ts'
import type * as usages from './usage.ts'

/**
 * A child may grow while what waits in it is at most so many times the room that is left (dynamic thresholds; Choudhury and Hahne, 1998):
 * alone it may have four fifths of the line, and a flood always leaves room for the others.
 */
export const SHARE_OF_ROOM = 4

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

/** The same for a job that waits again: what it uses was noted when it departed. */
export function rejoinUnder(bucket: TotalledBucket, cost: number): void {
  for (const total of totalsAbove(bucket)) buckets.returnToLine(total.bucket, cost)
}

export function leaveUnder(bucket: TotalledBucket, cost: number): void {
  for (const total of totalsAbove(bucket)) buckets.leave(total.bucket, cost)
}

/**
 * How long the last of so many units that wait in the bucket waits at most, as long as no child without work gets some, in microseconds;
 * undefined: a total above it has more than a steady pace, or is frozen or paused, or the bucket is not among those that share.
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
    if (!isSteady(limit) || shared.paused || shared.frozenUntil > now) return undefined
    if (child.standing !== 'ready' && child.standing !== 'held') return undefined
    // The child is at most that far behind its share, as it joins, as others go, and as it comes back from its own limits.
    const ahead = queue.weights * (needed / child.weight + 3 * queue.largest)
    wait += Math.max(0, buckets.nextSlot(shared, now) - now) + ahead * limit.interval
    needed = ahead
    child = total
  }
  return wait
}

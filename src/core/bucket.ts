/**
 * THE algorithm: a leaky bucket *as a queue*. (A leaky bucket as a meter would count and say yes or no; this one
 * makes its guests wait.) It keeps three laws:
 *
 * - Bound: nobody is admitted who would make more than `capacity` cost units wait; he is told when to come back
 *   (verdict.ts).
 * - Spacing: two slots are never closer than `interval x cost of the first`; starts conform to GCRA (ITU-T I.371)
 *   with that interval and the limit's tolerance. Late is allowed, early never, and lateness is never repaid.
 *   Where the limit says so the interval is longer while the bucket warms up (warmth.ts), never shorter.
 * - Order: a newcomer departs after everyone who waits.
 *
 * A bucket remembers one number, `next`: the earliest time of its next departure; and how warm it is then. Everything
 * here is pure: `now` is an argument, times are microseconds, nothing is read or written but the bucket that was passed.
 */

import type { Course } from './course.ts'
import type { Limit } from './limit.ts'
import { cooledBy, spacing, warmedBy } from './warmth.ts'

export interface Bucket {
  limit: Limit
  /** Earliest time of the next departure. */
  next: number
  /**
   * What the last addition to `next` lost to rounding. At epoch microseconds a double steps by 0.25, which would
   * make 3,000/s run 250 ppm too fast; carried on, it keeps the interval as exact as it was written.
   */
  carry: number
  /** No departure before this time. */
  frozenUntil: number
  /** No departure until resumed. */
  paused: boolean
  /** Cost units that were admitted and have not departed: the line, and those who wait to be tried again. */
  waiting: number
  /** How warm it is at `next`, in microseconds; 0, as the next two, where the limit has no warm-up. */
  warmth: number
  /** The cost of the last slot that was reserved, and the warmth there: what keeps `next` away from it. */
  lastCost: number
  lastWarmth: number
  /** The same of the last handler that really started: where a change of limit counts from, if that is later. */
  lastStart: number
  startedCost: number
  startedWarmth: number
}

/** Microseconds: two steps of a double at the present epoch. */
export const ROUNDING = 0.5

export function createBucket(limit: Limit): Bucket {
  return {
    limit,
    next: Number.NEGATIVE_INFINITY,
    carry: 0,
    frozenUntil: 0,
    paused: false,
    waiting: 0,
    warmth: 0,
    lastCost: 0,
    lastWarmth: 0,
    lastStart: Number.NEGATIVE_INFINITY,
    startedCost: 0,
    startedWarmth: 0,
  }
}

/** The slot that a departure would get now. */
export function nextSlot(bucket: Bucket, now: number): number {
  return Math.max(now, bucket.next, bucket.frozenUntil)
}

/** From where a look ahead along the line begins. */
export function courseOf(bucket: Bucket, now: number): Course {
  const slot = nextSlot(bucket, now)
  return { slot, warmth: warmthAt(bucket, slot) }
}

/** Takes the next slot for one attempt; the departure after it stays `interval x cost` away. */
export function reserve(bucket: Bucket, cost: number, now: number): number {
  const slot = nextSlot(bucket, now)
  bucket.lastCost = cost
  if (bucket.limit.warmUp > 0) bucket.lastWarmth = warmthAt(bucket, slot)
  setNext(bucket, slot, slot === bucket.next ? bucket.carry : 0)
  return slot
}

/** Gives the last slot back. If somebody reserved after it, it is burned, and the answer is false. */
export function unreserve(bucket: Bucket, slot: number, cost: number): boolean {
  const isLast = Math.abs(bucket.next - (slot + spacing(bucket.limit, bucket.lastWarmth, cost))) <= ROUNDING
  if (!isLast) return false
  // The limit may have been lowered since it was reserved.
  bucket.next = Math.max(slot, earliestAfterStart(bucket))
  bucket.carry = 0
  bucket.lastCost = 0
  // Colder than at the slot, where it was frozen since.
  bucket.warmth = Math.min(bucket.warmth, bucket.lastWarmth)
  return true
}

/**
 * Reserves for a start that happens now and was due at `due`. One who waited for a slot of the grid keeps it if the
 * start is late by the tolerance at most, so that the rate is kept. Later than that, the slot moves to now and the
 * lost time is lost. One who found the bucket idle had no slot to keep: the grid begins with the start.
 */
export function reserveDue(bucket: Bucket, cost: number, due: number, now: number): number {
  const isOnGrid = due <= Math.max(bucket.next, bucket.frozenUntil)
  return reserve(bucket, cost, isOnGrid && now - due <= bucket.limit.tolerance ? due : now)
}

/** The job whose slot came has started. */
export function depart(bucket: Bucket, cost: number, now: number): void {
  bucket.waiting -= cost
  bucket.lastStart = now
  bucket.startedCost = cost
  bucket.startedWarmth = bucket.lastWarmth
}

/**
 * The handler of the last job that departed, with `slot`, may have begun as late as `at`, so the next is counted from
 * there: within the tolerance after a slot of the grid that changes nothing, later the slot moves to `at`. Answers whether
 * it moved.
 */
export function startedBy(bucket: Bucket, slot: number, isOnGrid: boolean, at: number): boolean {
  bucket.lastStart = Math.max(bucket.lastStart, at)
  if (at - slot <= (isOnGrid ? bucket.limit.tolerance : 0)) return false
  // Frozen since it departed.
  const isChilled = bucket.warmth === 0
  bucket.lastWarmth = cooledBy(bucket.lastWarmth, at - slot)
  bucket.startedWarmth = bucket.lastWarmth
  setNext(bucket, at, 0)
  if (isChilled) bucket.warmth = 0
  return true
}

/** A started job waits again, to be retried. It is never refused, and newcomers are until it has departed. */
export function returnToLine(bucket: Bucket, cost: number): void {
  bucket.waiting += cost
}

/** One who waited leaves without departing (cancelled or expired); those behind move up. */
export function leave(bucket: Bucket, cost: number): void {
  bucket.waiting -= cost
}

/** A freeze never shortens a longer one. The other side said that it was too much, so the bucket is cold after it. */
export function freeze(bucket: Bucket, until: number): void {
  bucket.frozenUntil = Math.max(bucket.frozenUntil, until)
  bucket.warmth = 0
}

/** Lifts a freeze. `next` stays where it is, so departures go on at the rate; the bucket is as cold as after the freeze. */
export function unfreeze(bucket: Bucket): void {
  bucket.frozenUntil = 0
}

/**
 * From now on the new limit spaces departures, counted from the last slot. The last start may have been later than
 * its slot by more than the new tolerance forgives; then it counts from there. Lowering the capacity drops nobody. The
 * time that was spent warming up counts for the new warm-up too, as far as it goes.
 */
export function changeLimit(bucket: Bucket, limit: Limit): void {
  const before = spacing(bucket.limit, bucket.lastWarmth, bucket.lastCost)
  bucket.limit = limit
  bucket.lastWarmth = Math.min(bucket.lastWarmth, limit.warmUp)
  bucket.startedWarmth = Math.min(bucket.startedWarmth, limit.warmUp)
  const wait = spacing(limit, bucket.lastWarmth, bucket.lastCost)
  bucket.warmth = Math.min(bucket.warmth, warmedBy(limit, bucket.lastWarmth, wait))
  const fromSlot = bucket.next + (wait - before)
  bucket.next = Math.max(fromSlot, earliestAfterStart(bucket))
  bucket.carry = 0
}

/** How far the next start stays away from the last one, but for the tolerance. */
export function spacingAfterStart({ limit, startedWarmth, startedCost }: Bucket): number {
  return spacing(limit, startedWarmth, startedCost)
}

/** What the last start allows. */
function earliestAfterStart(bucket: Bucket): number {
  return bucket.lastStart - bucket.limit.tolerance + spacingAfterStart(bucket)
}

/** From when on nothing is remembered that still matters, if nobody comes: a bucket that is cold is like a new one. */
export function forgettableAt({ next, warmth, frozenUntil }: Bucket): number {
  return Math.max(next + warmth, frozenUntil)
}

/** Nobody waits and nothing is remembered that still matters: the bucket may be forgotten. */
export function isIdle(bucket: Bucket, now: number): boolean {
  return bucket.waiting === 0 && !bucket.paused && forgettableAt(bucket) <= now
}

/** The warmth at a slot; from `next` on it cools. */
export function warmthAt({ next, warmth }: Bucket, slot: number): number {
  return cooledBy(warmth, slot - next)
}

function setNext(bucket: Bucket, slot: number, carry: number): void {
  const wait = spacing(bucket.limit, bucket.lastWarmth, bucket.lastCost)
  const step = wait + carry
  bucket.next = slot + step
  // Exact where the slot is larger than the step (Dekker's Fast2Sum), which is where rounding matters.
  bucket.carry = step - (bucket.next - slot)
  if (bucket.limit.warmUp > 0) bucket.warmth = warmedBy(bucket.limit, bucket.lastWarmth, wait)
}

/**
 * THE algorithm: a leaky bucket *as a queue*. (A leaky bucket as a meter would count and say yes or no; this one makes
 * jobs wait.) It keeps three laws:
 *
 * - Bound: a job that would make more than `capacity` cost units wait is rejected, with the time after which it would
 *   be accepted (verdict.ts).
 * - Spacing: two slots are never closer than `interval x cost of the first`; starts conform to GCRA (ITU-T I.371) with
 *   that interval and the limit's tolerance. A start may be late, never early, and lateness is never made up for. While
 *   a bucket warms up, the interval is longer, never shorter (warmth.ts).
 * - Order: a new job departs after all jobs that wait.
 *
 * A bucket stores one time, `next`: the earliest time of its next departure; and how warm it is then. Everything here
 * is pure: `now` is an argument, times are microseconds, and only the given bucket is read or written.
 */

import type { Limit } from './limit.ts'
import type { LineEnd } from './line-end.ts'
import type { Projection } from './projection.ts'
import { entriesAt } from './quota.ts'
import { changeCounted } from './remembered.ts'
import * as usages from './usage.ts'
import type { NamedUnits } from './waiting-charges.ts'
import { cooledBy, spacing, warmedBy } from './warmth.ts'

export interface Bucket {
  limit: Limit
  /** Earliest time of the next departure. */
  next: number
  /**
   * The rounding error of the last addition to `next`. At epoch microseconds a double steps by 0.25, which would make
   * 3,000/s run 250 ppm too fast; added to the next step, it keeps the interval exact.
   */
  carry: number
  /** No departure before this time. */
  frozenUntil: number
  /** No departure until the bucket is resumed. */
  paused: boolean
  /** Cost units admitted and not yet departed: those in the line and those of jobs that wait for a retry. */
  waiting: number
  /** Warmth at `next`, in microseconds. It and the next two are 0 without a warm-up. */
  warmth: number
  /** Cost and warmth of the last reserved slot: they determine the distance from it to `next`. */
  lastCost: number
  lastWarmth: number
  /** The same for the last handler that started. A changed limit counts from there if that is later. */
  lastStart: number
  startedCost: number
  startedWarmth: number
  /** What the quotas of the limit count, and behind them those of `counted`; undefined where there is none. */
  usage: usages.Usage | undefined
  /** The quotas of the limit, and behind them those that are remembered (remembered.ts); absent where none is. */
  counted?: usages.Quotas | undefined
  /** How many jobs wait, and what they name in other units. A line whose bucket does not say is followed job by job. */
  readonly jobs?: number
  readonly named?: NamedUnits | undefined
  /** How many attempts run and turns hold a place: each may still be settled. Absent: what starts ends at once. */
  readonly placesTaken?: number
  /** When a turn last started under a quota of a unit: it may be settled after it has ended. */
  lastTurn?: number | undefined
  /**
   * The line as the last verdict followed it, of a bucket that counts its jobs. Forget it where a job goes out of the line or comes
   * back into it, or the usage changes.
   */
  end?: LineEnd | undefined
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
    usage: limit.quotas.length === 0 ? undefined : usages.createUsage(limit),
  }
}

/** Returns the slot that a departure would get now. */
export function nextSlot(bucket: Bucket, now: number): number {
  return Math.max(now, bucket.next, bucket.frozenUntil)
}

/** Returns the point from which a projection along the line begins. */
export function projectionOf(bucket: Bucket, now: number): Projection {
  const slot = nextSlot(bucket, now)
  return { slot, warmth: warmthAt(bucket, slot) }
}

/** Reserves the next slot for one attempt; the departure after it is `interval x cost` later. */
export function reserve(bucket: Bucket, cost: number, now: number): number {
  const slot = nextSlot(bucket, now)
  bucket.lastCost = cost
  if (bucket.limit.warmUp > 0) bucket.lastWarmth = warmthAt(bucket, slot)
  setNext(bucket, slot, slot === bucket.next ? bucket.carry : 0)
  return slot
}

/** Gives back the last slot. If another was reserved after it, it stays used, and the result is false. */
export function unreserve(bucket: Bucket, slot: number, cost: number): boolean {
  const isLast = Math.abs(bucket.next - (slot + spacing(bucket.limit, bucket.lastWarmth, cost))) <= ROUNDING
  if (!isLast) return false
  // The limit may have been lowered since the slot was reserved.
  bucket.next = Math.max(slot, earliestAfterStart(bucket))
  bucket.carry = 0
  bucket.lastCost = 0
  // Colder than at the slot if the bucket was frozen since.
  bucket.warmth = Math.min(bucket.warmth, bucket.lastWarmth)
  return true
}

/**
 * Reserves a slot for a start that happens now and was due at `due`. A job that waited for a slot of the grid keeps it
 * if it starts late by at most the tolerance, so that the rate is kept. If it is later, the slot moves to now and the
 * lost time is lost. A job that found the bucket idle had no slot on the grid: the grid begins with its start.
 */
export function reserveDue(bucket: Bucket, cost: number, due: number, now: number): number {
  const isOnGrid = due <= Math.max(bucket.next, bucket.frozenUntil)
  return reserve(bucket, cost, isOnGrid && now - due <= bucket.limit.tolerance ? due : now)
}

/** Records that the job whose slot was reserved has started. */
export function depart(bucket: Bucket, cost: number, now: number): void {
  bucket.waiting -= cost
  bucket.lastStart = now
  bucket.startedCost = cost
  bucket.startedWarmth = bucket.lastWarmth
}

/**
 * Records that the handler of the last departed job, with `slot`, may have begun as late as `at`: the next departure
 * counts from there. Within the tolerance after a slot on the grid nothing changes; later than that the slot moves to
 * `at`. Returns whether it moved.
 */
export function startedBy(bucket: Bucket, slot: number, isOnGrid: boolean, at: number): boolean {
  bucket.lastStart = Math.max(bucket.lastStart, at)
  if (at - slot <= (isOnGrid ? bucket.limit.tolerance : 0)) return false
  // The bucket was frozen after the job departed.
  const wasFrozen = bucket.warmth === 0
  bucket.lastWarmth = cooledBy(bucket.lastWarmth, at - slot)
  bucket.startedWarmth = bucket.lastWarmth
  setNext(bucket, at, 0)
  if (wasFrozen) bucket.warmth = 0
  return true
}

/**
 * Counts a started job as waiting again, for a retry. A retry is never rejected; it takes capacity from new jobs until
 * it departs.
 */
export function returnToLine(bucket: Bucket, cost: number): void {
  bucket.waiting += cost
}

/** Removes a waiting job that does not depart (cancelled or expired); the jobs behind it move up. */
export function leave(bucket: Bucket, cost: number): void {
  bucket.waiting -= cost
}

/**
 * Freezes the bucket until `until`; never shortens a longer freeze. The other side said that it got too much, so the
 * bucket is cold afterwards.
 */
export function freeze(bucket: Bucket, until: number): void {
  bucket.frozenUntil = Math.max(bucket.frozenUntil, until)
  bucket.warmth = 0
}

/**
 * Lifts a freeze. `next` does not change, so departures continue at the rate; the bucket is as cold as after the
 * freeze.
 */
export function unfreeze(bucket: Bucket): void {
  bucket.frozenUntil = 0
}

/**
 * Applies a new limit, counted from the last slot. If the last start was later than its slot by more than the new
 * tolerance, it counts from that start. A lower capacity drops no job. Time already spent warming up counts for the new
 * warm-up, up to its length, and what quotas counted counts for the new ones of the same unit, and is remembered without them.
 */
export function changeLimit(bucket: Bucket, limit: Limit, now: number): void {
  const before = spacing(bucket.limit, bucket.lastWarmth, bucket.lastCost)
  changeCounted(bucket, limit, now)
  bucket.limit = limit
  bucket.lastWarmth = Math.min(bucket.lastWarmth, limit.warmUp)
  bucket.startedWarmth = Math.min(bucket.startedWarmth, limit.warmUp)
  const wait = spacing(limit, bucket.lastWarmth, bucket.lastCost)
  bucket.warmth = Math.min(bucket.warmth, warmedBy(limit, bucket.lastWarmth, wait))
  const fromSlot = bucket.next + (wait - before)
  bucket.next = Math.max(fromSlot, earliestAfterStart(bucket))
  bucket.carry = 0
}

/** Returns the distance from the last start to the next, without the tolerance. */
export function spacingAfterStart({ limit, startedWarmth, startedCost }: Bucket): number {
  return spacing(limit, startedWarmth, startedCost)
}

/** The earliest departure that the last start allows. */
function earliestAfterStart(bucket: Bucket): number {
  return bucket.lastStart - bucket.limit.tolerance + spacingAfterStart(bucket)
}

/** Returns the time from which an empty bucket equals a new one: a cold bucket is like a new one. */
export function forgettableAt({ next, warmth, frozenUntil, limit, usage, counted = limit }: Bucket): number {
  const at = Math.max(next + warmth, frozenUntil)
  return usage === undefined ? at : Math.max(at, usages.forgettableAt(counted, usage))
}

/** Whether no job waits and the bucket equals a new one, so that it may be deleted. */
export function isIdle(bucket: Bucket, now: number): boolean {
  return bucket.waiting === 0 && !bucket.paused && forgettableAt(bucket) <= now
}

/** Whether a start that quotas count may still be settled, so that it counts less. */
export function mayBeSettled({ limit, placesTaken = 0, lastTurn }: Bucket, now: number): boolean {
  if (placesTaken > 0 || lastTurn === undefined) return placesTaken > 0
  return limit.quotas.some((quota) => quota.unit !== undefined && entriesAt(quota, lastTurn).at(-1)! > now)
}

/** Returns the warmth at a slot; from `next` on it falls. */
export function warmthAt({ next, warmth }: Bucket, slot: number): number {
  return cooledBy(warmth, slot - next)
}

function setNext(bucket: Bucket, slot: number, carry: number): void {
  const wait = spacing(bucket.limit, bucket.lastWarmth, bucket.lastCost)
  const step = wait + carry
  bucket.next = slot + step
  // Exact if the slot is larger than the step (Dekker's Fast2Sum), which is when rounding matters.
  bucket.carry = step - (bucket.next - slot)
  if (bucket.limit.warmUp > 0) bucket.warmth = warmedBy(bucket.limit, bucket.lastWarmth, wait)
}

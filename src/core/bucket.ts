/**
 * THE algorithm: a leaky bucket *as a queue*. (A leaky bucket as a meter would count and say yes or no; this one
 * makes its guests wait.) It keeps three laws:
 *
 * - Bound: nobody is admitted who would make more than `capacity` cost units wait; he is told when to come back.
 * - Spacing: two slots are never closer than `interval x cost of the first`; starts conform to GCRA (ITU-T I.371)
 *   with that interval and the limit's tolerance. Late is allowed, early never, and lateness is never repaid.
 * - Order: a newcomer departs after everyone who waits.
 *
 * A bucket remembers one number, `next`: the earliest time of its next departure. Everything here is pure: `now`
 * is an argument, times are microseconds, nothing is read or written but the bucket that was passed.
 */

import type { Limit } from './limit.ts'

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
  /** The cost of the last slot that was reserved: what keeps `next` away from it. */
  lastCost: number
  /** When the last handler really started, and its cost: where a change of limit counts from, if that is later. */
  lastStart: number
  startedCost: number
}

/** One who waits: its cost, and, for a retry that backs off, the time before which it cannot depart. */
export interface Waiting {
  readonly cost: number
  readonly readyAt?: number | undefined
}

export type RejectReason = 'full' | 'deadline' | 'paused' | 'too-costly'

/** The verdict at the rope. `retryAt`: the earliest time at which the same request would be accepted. */
export type Verdict =
  | { readonly accepted: true; readonly departsAt: number }
  | { readonly accepted: false; readonly reason: RejectReason; readonly retryAt: number }

export interface AdmitRequest {
  /** Whole cost units, at least 1. */
  readonly cost: number
  /** The latest time at which the job may still depart. */
  readonly deadline: number
}

/** Microseconds: two steps of a double at the present epoch. */
const ROUNDING = 0.5

export function createBucket(limit: Limit): Bucket {
  return {
    limit,
    next: Number.NEGATIVE_INFINITY,
    carry: 0,
    frozenUntil: 0,
    paused: false,
    waiting: 0,
    lastCost: 0,
    lastStart: Number.NEGATIVE_INFINITY,
    startedCost: 0,
  }
}

/** The slot that a departure would get now. */
export function nextSlot(bucket: Bucket, now: number): number {
  return Math.max(now, bucket.next, bucket.frozenUntil)
}

/** Takes the next slot for one attempt; the departure after it stays `interval x cost` away. */
export function reserve(bucket: Bucket, cost: number, now: number): number {
  const slot = nextSlot(bucket, now)
  bucket.lastCost = cost
  setNext(bucket, slot, slot === bucket.next ? bucket.carry : 0)
  return slot
}

/** Gives the last slot back. If somebody reserved after it, it is burned, and the answer is false. */
export function unreserve(bucket: Bucket, slot: number, cost: number): boolean {
  const isLast = Math.abs(bucket.next - (slot + bucket.limit.interval * cost)) <= ROUNDING
  if (!isLast) return false
  // The limit may have been lowered since it was reserved.
  bucket.next = Math.max(slot, earliestAfterStart(bucket, bucket.limit))
  bucket.carry = 0
  bucket.lastCost = 0
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
}

/** A started job waits again, to be retried. It is never refused, and newcomers are until it has departed. */
export function returnToLine(bucket: Bucket, cost: number): void {
  bucket.waiting += cost
}

/**
 * What `admit` would answer; changes nothing.
 *
 * @param line everyone who waits, in the order of departure
 * @param ahead those who depart before a newcomer, in that order; absent when that is all of them
 */
export function judge(
  bucket: Bucket,
  request: AdmitRequest,
  now: number,
  line: Iterable<Waiting>,
  ahead?: readonly Waiting[],
): Verdict {
  const { cost, deadline } = request
  const { capacity } = bucket.limit
  if (cost > capacity) return { accepted: false, reason: 'too-costly', retryAt: Number.POSITIVE_INFINITY }
  const departsAt = departureBehind(bucket, now, ahead)
  // The end of the line stands still while the line moves up to it: later, the same deadline reaches as far.
  const inTime = now + Math.max(0, departsAt - deadline)
  const excess = bucket.waiting + cost - capacity
  if (excess > 0) {
    const room = departureOf(excess, bucket, now, line)
    if (inTime > room) return { accepted: false, reason: 'deadline', retryAt: inTime }
    return { accepted: false, reason: bucket.paused ? 'paused' : 'full', retryAt: room }
  }
  if (inTime > now) return { accepted: false, reason: 'deadline', retryAt: inTime }
  // Nobody knows when a paused bucket departs, so a deadline cannot be promised.
  if (bucket.paused && deadline !== Number.POSITIVE_INFINITY) {
    return { accepted: false, reason: 'paused', retryAt: now + bucket.limit.interval }
  }
  return { accepted: true, departsAt }
}

/** Judges a newcomer and, if it fits, counts it in. */
export function admit(
  bucket: Bucket,
  request: AdmitRequest,
  now: number,
  line: Iterable<Waiting>,
  ahead?: readonly Waiting[],
): Verdict {
  const verdict = judge(bucket, request, now, line, ahead)
  if (verdict.accepted) bucket.waiting += request.cost
  return verdict
}

/** One who waited leaves without departing (cancelled or expired); those behind move up. */
export function leave(bucket: Bucket, cost: number): void {
  bucket.waiting -= cost
}

/** A freeze never shortens a longer one. */
export function freeze(bucket: Bucket, until: number): void {
  bucket.frozenUntil = Math.max(bucket.frozenUntil, until)
}

/**
 * From now on the new limit spaces departures, counted from the last slot. The last start may have been later than
 * its slot by more than the new tolerance forgives; then it counts from there. Lowering the capacity drops nobody.
 */
export function changeLimit(bucket: Bucket, limit: Limit): void {
  const fromSlot = bucket.next + (limit.interval - bucket.limit.interval) * bucket.lastCost
  bucket.next = Math.max(fromSlot, earliestAfterStart(bucket, limit))
  bucket.limit = limit
  bucket.carry = 0
}

/** What the last start allows under `limit`. */
function earliestAfterStart({ lastStart, startedCost }: Bucket, limit: Limit): number {
  return lastStart - limit.tolerance + limit.interval * startedCost
}

/** Nobody waits and nothing is remembered that still matters: the bucket may be forgotten. */
export function isIdle(bucket: Bucket, now: number): boolean {
  return bucket.waiting === 0 && !bucket.paused && nextSlot(bucket, now) <= now
}

function setNext(bucket: Bucket, slot: number, carry: number): void {
  const step = bucket.limit.interval * bucket.lastCost + carry
  bucket.next = slot + step
  // Exact where the slot is larger than the step (Dekker's Fast2Sum), which is where rounding matters.
  bucket.carry = step - (bucket.next - slot)
}

/** When a newcomer departs, if handlers are free. */
function departureBehind(bucket: Bucket, now: number, ahead: readonly Waiting[] | undefined): number {
  const { interval } = bucket.limit
  let slot = nextSlot(bucket, now)
  if (ahead === undefined) return slot + interval * bucket.waiting
  for (const { cost, readyAt = slot } of ahead) slot = Math.max(slot, readyAt) + interval * cost
  return slot
}

/** How far into a line a refusal looks; beyond, every cost unit counts as one interval, which is never too early. */
const FARTHEST_LOOK = 1_000

/**
 * When `units` cost units will have departed, if handlers are free. A head that is due and still waits shows that
 * none is; then nobody knows, and one interval is the honest guess.
 */
function departureOf(units: number, bucket: Bucket, now: number, line: Iterable<Waiting>): number {
  const { interval } = bucket.limit
  let slot = nextSlot(bucket, now)
  let open = units
  let looked = 0
  for (const { cost, readyAt = slot } of line) {
    slot = Math.max(slot, readyAt)
    open -= cost
    if (open <= 0) break
    slot += interval * cost
    if (++looked === FARTHEST_LOOK) {
      slot += interval * open
      break
    }
  }
  return slot > now ? slot : now + interval
}

import { type Bucket, courseOf, nextSlot, ROUNDING, warmthAt } from './bucket.ts'
import { departureOf, follow, type Waiting } from './course.ts'
import { spacing } from './warmth.ts'

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
  const late = departsAt - deadline
  const inTime = late > ROUNDING ? now + late : now
  const excess = bucket.waiting + cost - capacity
  if (excess > 0) {
    const room = departureOf(excess, courseOf(bucket, now), bucket.limit, now, line)
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

/** When a newcomer departs, if handlers are free. */
function departureBehind(bucket: Bucket, now: number, ahead: readonly Waiting[] | undefined): number {
  const { limit } = bucket
  if (ahead === undefined) {
    const slot = nextSlot(bucket, now)
    return slot + spacing(limit, warmthAt(bucket, slot), bucket.waiting)
  }
  const course = courseOf(bucket, now)
  for (const waiting of ahead) follow(course, limit, waiting)
  return course.slot
}

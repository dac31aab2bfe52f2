import { type Bucket, projectionOf, ROUNDING } from './bucket.ts'
import { departureBehind, departureOf, type Retries, type WaitingJob } from './projection.ts'

export const REJECT_REASONS = ['full', 'deadline', 'paused', 'too-costly'] as const
export type RejectReason = (typeof REJECT_REASONS)[number]

/**
 * The admission verdict. `retriesAhead`: how many retries depart before the job, for its position. `retryAt`: the
 * earliest time at which the same request would be accepted; if more than 100 jobs decide about it, up to one job's
 * cost later.
 */
export type Verdict =
  | { readonly accepted: true; readonly departsAt: number; readonly retriesAhead: number }
  | { readonly accepted: false; readonly reason: RejectReason; readonly retryAt: number }

export interface AdmitRequest {
  /** Whole cost units, at least 1. */
  readonly cost: number
  /** The latest time at which the job may still depart. */
  readonly deadline: number
}

/**
 * Returns what `admit` would; changes nothing.
 *
 * @param line the waiting jobs, in the order of departure; only the first are read
 * @param retries those of them that wait for a retry; absent if there are none
 */
export function judge(
  bucket: Bucket,
  request: AdmitRequest,
  now: number,
  line: Iterable<WaitingJob>,
  retries?: Retries,
): Verdict {
  const { cost, deadline } = request
  const { waiting, limit } = bucket
  const { capacity } = limit
  if (cost > capacity) return { accepted: false, reason: 'too-costly', retryAt: Number.POSITIVE_INFINITY }
  const whole = { waiting, jobs: line, retries }
  const { departsAt, retriesAhead } = departureBehind(whole, projectionOf(bucket, now), limit)
  // The end of the line keeps its time while the line moves towards it: later, the same deadline reaches as far.
  const late = departsAt - deadline
  const inTime = late > ROUNDING ? now + late : now
  const excess = waiting + cost - capacity
  if (excess > 0) {
    const room = departureOf(excess, whole, projectionOf(bucket, now), limit, now)
    if (inTime > room) return { accepted: false, reason: 'deadline', retryAt: inTime }
    return { accepted: false, reason: bucket.paused ? 'paused' : 'full', retryAt: room }
  }
  if (inTime > now) return { accepted: false, reason: 'deadline', retryAt: inTime }
  // It is unknown when a paused bucket departs again, so a deadline cannot be promised.
  if (bucket.paused && deadline !== Number.POSITIVE_INFINITY) {
    return { accepted: false, reason: 'paused', retryAt: now + limit.interval }
  }
  return { accepted: true, departsAt, retriesAhead }
}

/** Judges a new job and, if it is accepted, counts it in. */
export function admit(
  bucket: Bucket,
  request: AdmitRequest,
  now: number,
  line: Iterable<WaitingJob>,
  retries?: Retries,
): Verdict {
  const verdict = judge(bucket, request, now, line, retries)
  if (verdict.accepted) bucket.waiting += request.cost
  return verdict
}

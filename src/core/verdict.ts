import { type Bucket, projectionOf, ROUNDING } from './bucket.ts'
import { hasParts } from './limit.ts'
import { departureBehind, departureOf, type Retries } from './projection.ts'
import type { Quota } from './quota.ts'
import { type Costs, type CountedJob, exceededBy, FARTHEST_STEP, Walk } from './usage.ts'

export const REJECT_REASONS = ['full', 'deadline', 'paused', 'too-costly'] as const
export type RejectReason = (typeof REJECT_REASONS)[number]

/**
 * The admission verdict. `retriesAhead`: how many retries depart before the job, for its position. `retryAt`: the
 * earliest time at which the same request would be accepted; if more than 100 jobs decide about it, up to one job's
 * cost later.
 */
export type Verdict =
  | {
      readonly accepted: true
      readonly departsAt: number
      readonly retriesAhead: number
      /** The time may be later: the line is longer than a verdict looks at, or handlers decide about it. Never earlier. */
      readonly isEstimate?: true | undefined
    }
  | {
      readonly accepted: false
      readonly reason: RejectReason
      readonly retryAt: number
      readonly isEstimate?: true | undefined
      /** The quota that the job alone exceeds, if it is not the capacity. */
      readonly exceeded?: Quota
    }

export interface AdmitRequest {
  /** Whole cost units, at least 1. */
  readonly cost: number
  /** What it counts in named units. */
  readonly costs?: Costs | undefined
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
  line: Iterable<CountedJob>,
  retries?: Retries,
): Verdict {
  const { cost } = request
  const { waiting, limit } = bucket
  const { capacity } = limit
  if (cost > capacity) return { accepted: false, reason: 'too-costly', retryAt: Number.POSITIVE_INFINITY }
  if (hasParts(limit)) return judgeParts(bucket, request, now, line, retries)
  const whole = { waiting, jobs: line, retries }
  const { departsAt, retriesAhead } = departureBehind(whole, projectionOf(bucket, now), limit)
  const excess = waiting + cost - capacity
  const room = excess > 0 ? departureOf(excess, whole, projectionOf(bucket, now), limit, now) : now
  return decide(bucket, request, now, { departsAt, retriesAhead, room })
}

/** When the job would depart, and when there is room for it: now, or later where the line is full. */
interface Outlook {
  readonly departsAt: number
  readonly retriesAhead: number
  readonly room: number
  readonly isEstimate?: true | undefined
}

function decide(bucket: Bucket, { deadline }: AdmitRequest, now: number, outlook: Outlook): Verdict {
  const { departsAt, retriesAhead, room, isEstimate } = outlook
  // The end of the line keeps its time while the line moves towards it: later, the same deadline reaches as far.
  const late = departsAt - deadline
  const inTime = late > ROUNDING ? now + late : now
  if (inTime > room) return { accepted: false, reason: 'deadline', retryAt: inTime, isEstimate }
  if (room > now)
    return { accepted: false, reason: bucket.paused ? 'paused' : 'full', retryAt: room, isEstimate }
  // It is unknown when a paused bucket departs again, so a deadline cannot be promised.
  if (bucket.paused && deadline !== Number.POSITIVE_INFINITY) {
    return { accepted: false, reason: 'paused', retryAt: now + bucket.limit.interval }
  }
  return { accepted: true, departsAt, retriesAhead, isEstimate }
}

/** The same under a limit with more than a pace: the jobs ahead are followed one by one. */
function judgeParts(
  bucket: Bucket,
  request: AdmitRequest,
  now: number,
  line: Iterable<CountedJob>,
  retries?: Retries,
): Verdict {
  const { limit, waiting, usage = [] } = bucket
  const exceeded = exceededBy(limit, request)
  if (exceeded !== undefined) {
    return { accepted: false, reason: 'too-costly', retryAt: Number.POSITIVE_INFINITY, exceeded }
  }
  const walk = new Walk(limit, projectionOf(bucket, now), usage)
  let missing = waiting + request.cost - limit.capacity
  let room = now
  let steps = 0
  let unread = waiting
  for (const job of line) {
    if (steps === FARTHEST_STEP) break
    steps++
    const at = walk.depart(job)
    unread -= job.cost
    if (missing <= 0) continue
    missing -= job.cost
    // A job that is due and waits has no handler.
    if (missing <= 0) room = at > now ? at : now + limit.interval
  }
  if (missing > 0) room = walk.behind(missing - 1)
  const departsAt = unread > 0 ? walk.behind(unread) : walk.depart(request)
  const isCertain = unread === 0 && retries === undefined && limit.concurrency === Number.POSITIVE_INFINITY
  const isEstimate = isCertain ? undefined : true
  const retriesAhead = Math.min(retries?.gaps ?? 0, retries?.size ?? 0)
  return decide(bucket, request, now, { departsAt, retriesAhead, room, isEstimate })
}

/** Judges a new job and, if it is accepted, counts it in. */
export function admit(
  bucket: Bucket,
  request: AdmitRequest,
  now: number,
  line: Iterable<CountedJob>,
  retries?: Retries,
): Verdict {
  const verdict = judge(bucket, request, now, line, retries)
  if (verdict.accepted) bucket.waiting += request.cost
  return verdict
}

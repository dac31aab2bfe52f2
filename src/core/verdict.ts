import { type Bucket, projectionOf, ROUNDING } from './bucket.ts'
import { hasParts } from './limit.ts'
import { LineEnd } from './line-end.ts'
import { departureBehind, departureOf, type Retries } from './projection.ts'
import type { Quota } from './quota.ts'
import { type Costs, type CountedJob, chargesOf } from './usage.ts'
import { mayHold } from './waiting-charges.ts'
import { FARTHEST_STEP, Walk } from './walk.ts'
import { spacing } from './warmth.ts'

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
  return decide(bucket, request, now, {
    departsAt,
    retriesAhead,
    isEstimate: false,
    room,
    isRoomEstimate: false,
  })
}

/** When the job would depart, and when there is room for it: now, or later where the line is full. */
interface Outlook {
  readonly departsAt: number
  /** A time before which it certainly does not depart, where that is earlier. */
  readonly surelyFrom?: number
  readonly retriesAhead: number
  readonly isEstimate: boolean
  readonly room: number
  readonly isRoomEstimate: boolean
}

function decide(bucket: Bucket, { deadline }: AdmitRequest, now: number, outlook: Outlook): Verdict {
  const { departsAt, surelyFrom = departsAt, retriesAhead, room } = outlook
  const isEstimate = outlook.isEstimate || undefined
  // The end of the line keeps its time while the line moves towards it: later, the same deadline reaches as far.
  const late = surelyFrom - deadline
  const inTime = late > ROUNDING ? now + late : now
  if (inTime > room) return { accepted: false, reason: 'deadline', retryAt: inTime, isEstimate }
  if (room > now) {
    const reason = bucket.paused ? 'paused' : 'full'
    return { accepted: false, reason, retryAt: room, isEstimate: outlook.isRoomEstimate || undefined }
  }
  // It is unknown when a paused bucket departs again, so a deadline cannot be promised.
  if (bucket.paused && deadline !== Number.POSITIVE_INFINITY) {
    return { accepted: false, reason: 'paused', retryAt: now + bucket.limit.interval }
  }
  return { accepted: true, departsAt, retriesAhead, isEstimate }
}

/** The same under a limit with more than a pace. */
function judgeParts(
  bucket: Bucket,
  request: AdmitRequest,
  now: number,
  line: Iterable<CountedJob>,
  retries?: Retries,
): Verdict {
  const { limit } = bucket
  const charges = chargesOf(limit, request)
  for (let index = 0; index < charges.length; index++) {
    const exceeded = limit.quotas[index]!
    if (charges[index]! <= exceeded.amount) continue
    return { accepted: false, reason: 'too-costly', retryAt: Number.POSITIVE_INFINITY, exceeded }
  }
  const isUncertain = retries !== undefined || limit.concurrency < Number.POSITIVE_INFINITY
  const missing = bucket.waiting + request.cost - limit.capacity
  const { room, isFollowed } =
    missing > 0 ? roomBehind(missing, bucket, now, line) : { room: now, isFollowed: true }
  // How far the line reaches matters to a job that gets in, or has a deadline.
  const isAsked = room === now || request.deadline < Number.POSITIVE_INFINITY
  const end = isAsked ? behind(bucket, request, charges, now, line, retries) : NOWHERE
  const { departsAt, retriesAhead } = end
  const surelyFrom =
    retries === undefined ? departsAt : Math.min(departsAt, soonestPast(retries, bucket, now))
  const isEstimate = isUncertain || !end.isFollowed
  const isRoomEstimate = isUncertain || !isFollowed
  return decide(bucket, request, now, {
    departsAt,
    surelyFrom,
    retriesAhead,
    isEstimate,
    room,
    isRoomEstimate,
  })
}

/** When a new job would depart that passes all retries by, as it does those that are not ready yet. */
function soonestPast(retries: Retries, bucket: Bucket, now: number): number {
  const { slot, warmth } = projectionOf(bucket, now)
  return slot + spacing(bucket.limit, warmth, bucket.waiting - retries.units)
}

/** When a job departs, and whether all jobs before it were followed. */
interface Departure {
  readonly departsAt: number
  readonly retriesAhead: number
  readonly isFollowed: boolean
}

const NOWHERE: Departure = { departsAt: Number.NEGATIVE_INFINITY, retriesAhead: 0, isFollowed: true }

/** When the job departs behind the whole line. Only where quotas might hold a job on the way it is followed job by job. */
function behind(
  bucket: Bucket,
  request: AdmitRequest,
  charges: readonly number[],
  now: number,
  jobs: Iterable<CountedJob>,
  retries: Retries | undefined,
): Departure {
  const { limit, usage, waiting } = bucket
  if (usage === undefined || !mayHold(limit, usage, bucket, charges, now)) {
    const { departsAt, retriesAhead } = departureBehind(
      { waiting, jobs, retries },
      projectionOf(bucket, now),
      limit,
    )
    return { departsAt, retriesAhead, isFollowed: true }
  }
  const end = bucket.end?.isOf(bucket, now) ? bucket.end : new LineEnd(bucket, usage, now, jobs)
  // Which retries depart between the others changes with the time.
  if (bucket.jobs !== undefined && retries === undefined) bucket.end = end
  const retriesAhead = Math.min(retries?.gaps ?? 0, retries?.size ?? 0)
  return { departsAt: end.departureOf(request), retriesAhead, isFollowed: end.isSeen }
}

/** When `missing` cost units of the line will have departed, and whether all jobs until then were followed. */
function roomBehind(missing: number, bucket: Bucket, now: number, line: Iterable<CountedJob>) {
  const { limit, usage = [] } = bucket
  const walk = new Walk(limit, projectionOf(bucket, now), usage)
  let open = missing
  let steps = 0
  for (const job of line) {
    if (steps++ === FARTHEST_STEP) break
    const at = walk.depart(job)
    open -= job.cost
    // A job that is due and waits has no handler.
    if (open <= 0) return { room: at > now ? at : now + limit.interval, isFollowed: true }
  }
  return { room: walk.behind(open - 1), isFollowed: false }
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
  if (!verdict.accepted) return verdict
  bucket.waiting += request.cost
  bucket.end?.join(request)
  return verdict
}

import { type Bucket, mayBeSettled, projectionOf, ROUNDING } from './bucket.ts'
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
 * earliest time at which the same request would be accepted; if more than 100 jobs decide about it, which cost
 * more than 1, an estimate: up to one job's cost later.
 */
export type Verdict =
  | {
      readonly accepted: true
      readonly departsAt: number
      readonly retriesAhead: number
      /**
       * The time may be later: the line is longer than a verdict looks at, handlers decide about it, or the bucket is paused. Or it may
       * be earlier: it counts starts that may still be settled for less.
       */
      readonly isEstimate?: true | undefined
    }
  | {
      readonly accepted: false
      readonly reason: RejectReason
      readonly retryAt: number
      readonly isEstimate?: true | undefined
      /** The quota that the job alone exceeds, if it is not the capacity. */
      readonly exceeded?: Quota
      /** The total that refuses it; absent: its own limit does. */
      readonly at?: { readonly path: string; readonly bucket: Bucket }
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
 * @param size how many jobs wait; absent: a refusal about which more than 100 of them decide is an estimate
 */
export function judge(
  bucket: Bucket,
  request: AdmitRequest,
  now: number,
  line: Iterable<CountedJob>,
  retries?: Retries,
  size?: number,
): Verdict {
  const { cost } = request
  const { waiting, limit } = bucket
  const { capacity } = limit
  if (cost > capacity) return { accepted: false, reason: 'too-costly', retryAt: Number.POSITIVE_INFINITY }
  if (hasParts(limit)) return judgeParts(bucket, request, now, line, retries)
  const whole = { waiting, size, jobs: line, retries }
  const { departsAt, retriesAhead } = departureBehind(whole, projectionOf(bucket, now), limit)
  const excess = waiting + cost - capacity
  const room =
    excess > 0
      ? departureOf(excess, whole, projectionOf(bucket, now), limit, now)
      : { at: now, isExact: true }
  return decide(bucket, request, now, {
    departsAt,
    retriesAhead,
    isEstimate: false,
    isSure: true,
    room: room.at,
    isRoomEstimate: !room.isExact,
  })
}

/** When the job would depart, and when there is room for it: now, or later where the line is full. */
interface Outlook {
  readonly departsAt: number
  /** What its deadline is compared with, where that is earlier. */
  readonly reachedAt?: number
  /** Whether it certainly does not depart before that. */
  readonly isSure: boolean
  readonly retriesAhead: number
  readonly isEstimate: boolean
  readonly room: number
  readonly isRoomEstimate: boolean
}

function decide(bucket: Bucket, { deadline }: AdmitRequest, now: number, outlook: Outlook): Verdict {
  const { departsAt, reachedAt = departsAt, isSure, retriesAhead, room } = outlook
  // It is unknown when a paused bucket departs again.
  const isEstimate = outlook.isEstimate || bucket.paused || undefined
  // The end of the line keeps its time while the line moves towards it: later, the same deadline reaches as far.
  const late = reachedAt - deadline
  const inTime = late > ROUNDING ? now + late : now
  if (isSure && inTime > room) return { accepted: false, reason: 'deadline', retryAt: inTime, isEstimate }
  if (room > now) {
    const reason = bucket.paused ? 'paused' : 'full'
    // By then it may be sure to be late.
    const isRoomEstimate = outlook.isRoomEstimate || bucket.paused || inTime > room || undefined
    return { accepted: false, reason, retryAt: room, isEstimate: isRoomEstimate }
  }
  if (bucket.paused && deadline !== Number.POSITIVE_INFINITY) {
    return { accepted: false, reason: 'paused', retryAt: now + bucket.limit.interval, isEstimate }
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
  const { room, isExact } =
    missing > 0 ? roomBehind(missing, bucket, now, line) : { room: now, isExact: true }
  // How far the line reaches matters to a job that gets in, or has a deadline.
  const isAsked = room === now || request.deadline < Number.POSITIVE_INFINITY
  const end = isAsked ? behind(bucket, request, charges, now, line, retries) : NOWHERE
  const { departsAt, reachedAt, retriesAhead, isEstimate } = end
  // To spread `end` here takes ten microseconds: as long as all the rest.
  return decide(bucket, request, now, {
    departsAt,
    reachedAt,
    retriesAhead,
    isSure: reachedAt - request.deadline > ROUNDING && end.isSureBy(request.deadline),
    isEstimate: isUncertain || isEstimate,
    room,
    isRoomEstimate: isUncertain || !isExact,
  })
}

/** When a new job would depart that passes all retries by, as it does those that are not ready yet. */
function soonestPast(retries: Retries, bucket: Bucket, now: number): number {
  const { slot, warmth } = projectionOf(bucket, now)
  return slot + spacing(bucket.limit, warmth, bucket.waiting - retries.units)
}

/** When a job departs behind the whole line. */
interface End {
  readonly departsAt: number
  /** With what a deadline is compared: where retries wait, with the time at which it would depart past all of them. */
  readonly reachedAt: number
  readonly retriesAhead: number
  readonly isEstimate: boolean
  /** Whether it certainly departs after a deadline that is before `reachedAt`. */
  isSureBy(deadline: number): boolean
}

const isAlways = () => true

const NOWHERE: End = {
  departsAt: Number.NEGATIVE_INFINITY,
  reachedAt: Number.NEGATIVE_INFINITY,
  retriesAhead: 0,
  isEstimate: false,
  isSureBy: isAlways,
}

/** When the job departs behind the whole line. Only where quotas might hold a job on the way it is followed job by job. */
function behind(
  bucket: Bucket,
  request: AdmitRequest,
  charges: readonly number[],
  now: number,
  jobs: Iterable<CountedJob>,
  retries: Retries | undefined,
): End {
  const { limit, usage, waiting } = bucket
  const past = retries === undefined ? Number.POSITIVE_INFINITY : soonestPast(retries, bucket, now)
  if (usage === undefined || !mayHold(limit, usage, bucket, charges, now)) {
    const whole = { waiting, jobs, retries }
    const { departsAt, retriesAhead } = departureBehind(whole, projectionOf(bucket, now), limit)
    const reachedAt = Math.min(departsAt, past)
    return { departsAt, reachedAt, retriesAhead, isEstimate: false, isSureBy: isAlways }
  }
  const end = bucket.end?.isOf(bucket, now) ? bucket.end : new LineEnd(bucket, usage, now, jobs)
  // Which retries depart between the others changes with the time.
  if (bucket.jobs !== undefined && retries === undefined) bucket.end = end
  const { at, mayBeEarlier } = end.departureOf(request)
  return {
    departsAt: at,
    reachedAt: Math.min(at, past),
    retriesAhead: Math.min(retries?.gaps ?? 0, retries?.size ?? 0),
    isEstimate: !end.isSeen || mayBeEarlier,
    // What will be settled later lets nothing depart now.
    isSureBy: (deadline) =>
      retries !== undefined ||
      !mayBeEarlier ||
      deadline <= now ||
      end.soonestOf(request, bucket, now, jobs) - deadline > ROUNDING,
  }
}

/** When `missing` cost units of the line will have departed, and whether that is exact. */
function roomBehind(missing: number, bucket: Bucket, now: number, line: Iterable<CountedJob>) {
  const { limit, usage = [] } = bucket
  const walk = new Walk(limit, projectionOf(bucket, now), usage, { isOpen: mayBeSettled(bucket, now) })
  let open = missing
  let steps = 0
  for (const job of line) {
    if (steps++ === FARTHEST_STEP) break
    const at = walk.depart(job)
    open -= job.cost
    // A job that is due and waits has no handler.
    if (open <= 0) return { room: at > now ? at : now + limit.interval, isExact: !walk.mayBeEarlier }
  }
  return { room: walk.behind(open - 1), isExact: false }
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
  if (verdict.accepted) countIn(bucket, request)
  return verdict
}

/** Counts a job in that was accepted. */
export function countIn(bucket: Bucket, request: AdmitRequest): void {
  bucket.waiting += request.cost
  bucket.end?.join(request)
}

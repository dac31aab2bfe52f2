import { nextSlot, ROUNDING } from './bucket.ts'
import { isSteady, type Limit } from './limit.ts'
import { type Total, type TotalledBucket, totalsAbove } from './total.ts'
import { type FullTotal, fullAbove } from './total-line.ts'
import { paceBehind, placesUnder } from './total-place.ts'
import { chargesOf } from './usage.ts'
import type { AdmitRequest, Verdict } from './verdict.ts'

/** The line of a bucket below totals, as a verdict under them sees it. */
export interface LineUnder {
  readonly bucket: TotalledBucket
  readonly limit: Limit
  /** When its own limit lets its next departure go. */
  readonly slot: number
  /** Whether jobs of it come back later. */
  readonly hasRetries: boolean
}

/**
 * The verdict on a job below totals, from the verdict of the limit of its bucket alone. Times are what the shares of today allow; they
 * are exact where nothing else waits below the totals, and estimates otherwise. What is refused for its deadline is certainly late.
 */
export function judgeUnder(line: LineUnder, own: Verdict, request: AdmitRequest, now: number): Verdict {
  if (!own.accepted && own.reason === 'too-costly') return own
  const { bucket } = line
  for (const total of totalsAbove(bucket)) {
    const refused = tooCostly(total, request)
    if (refused !== undefined) return refused
  }
  if (!own.accepted) return { ...own, isEstimate: true }
  const late = certainlyLate(line, request, now)
  if (late !== undefined) return late
  const isExact = !own.isEstimate && isAlone(line, now)
  const full = fullAbove(bucket, request.cost)
  if (full !== undefined) return refusedAt(line, full, isExact, now)
  if (request.deadline < Number.POSITIVE_INFINITY) {
    for (const total of totalsAbove(bucket)) {
      const { paused, limit } = total.bucket
      if (!paused) continue
      return { accepted: false, reason: 'paused', retryAt: now + limit.interval, isEstimate: true, at: total }
    }
  }
  const departsAt = departureUnder(line, now)
  return { ...own, departsAt: Math.max(own.departsAt, departsAt), isEstimate: isExact ? undefined : true }
}

function tooCostly(total: Total, request: AdmitRequest): Verdict | undefined {
  const { limit } = total.bucket
  const refused = {
    accepted: false,
    reason: 'too-costly',
    retryAt: Number.POSITIVE_INFINITY,
    at: total,
  } as const
  if (request.cost > limit.capacity) return refused
  const index = chargesOf(limit, request).findIndex((units, at) => units > limit.quotas[at]!.amount)
  return index === -1 ? undefined : { ...refused, exceeded: limit.quotas[index]! }
}

/** A total lets no more than the line of the bucket depart before the deadline. */
function certainlyLate(line: LineUnder, { deadline }: AdmitRequest, now: number): Verdict | undefined {
  const { bucket, hasRetries } = line
  const ahead = hasRetries ? 0 : bucket.waiting
  for (const total of totalsAbove(bucket)) {
    const late = nextSlot(total.bucket, now) + total.bucket.limit.interval * ahead - deadline
    if (late <= ROUNDING) continue
    return { accepted: false, reason: 'deadline', retryAt: now + late, isEstimate: true, at: total }
  }
  return undefined
}

function refusedAt(
  line: LineUnder,
  { total, own, others }: FullTotal,
  isExact: boolean,
  now: number,
): Verdict {
  const { bucket: shared } = total
  const reason = shared.paused ? 'paused' : 'full'
  if (isExact && own <= line.bucket.waiting) {
    return { accepted: false, reason, retryAt: departureBehind(line, own - 1, now), at: total }
  }
  const retryAt = Math.max(paceBehind(shared, others - 1, now), now + shared.limit.interval)
  return { accepted: false, reason, retryAt, isEstimate: true, at: total }
}

/** When the line has departed, if each child of each total goes on getting the share that it has now. */
function departureUnder({ bucket, slot }: LineUnder, now: number): number {
  let at = slot
  for (const { departsAt } of placesUnder(bucket, bucket.waiting, 0, now)) at = Math.max(at, departsAt)
  return at
}

/** The same for a line that is alone below its totals, behind so many of its units. */
function departureBehind({ bucket, limit, slot }: LineUnder, units: number, now: number): number {
  let from = slot
  let { interval } = limit
  for (const { bucket: shared } of totalsAbove(bucket)) {
    from = Math.max(from, nextSlot(shared, now))
    interval = Math.max(interval, shared.limit.interval)
  }
  return from + interval * units
}

/** Whether nothing else waits below the totals, and nothing but a pace decides. */
export function isAlone({ bucket, limit, hasRetries }: LineUnder, now: number): boolean {
  if (hasRetries || !isSteady(limit)) return false
  for (const total of totalsAbove(bucket)) {
    const { bucket: shared, waiting } = total
    if (waiting > bucket.waiting || !isSteady(shared.limit) || shared.paused || shared.frozenUntil > now)
      return false
  }
  return true
}

import type { BucketView } from '../core/bucket-view.ts'
import { MILLISECOND } from '../core/duration.ts'
import type { FamilyView } from '../core/family-view.ts'
import type { Hold } from '../core/hold.ts'
import type { Accepted, Rejected } from '../core/job.ts'
import { type Limit, parseStoredLimit } from '../core/limit.ts'
import { lengthOf } from '../core/quota.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import type { RuleView } from '../core/rule-view.ts'
import { spacing } from '../core/warmth.ts'
import type { MeterReading } from '../meter/meter-reading.ts'
import { type Part, partName, policyName, type Quota, ROUNDING } from './ratelimit-headers.ts'

/** The unit of what runs at once, by the draft. */
const AT_ONCE = 'concurrent-requests'

/** What the quotas and places of a bucket, or of a total, count, and when its next job departs. */
export type PartsRead = Pick<BucketView, 'quotas' | 'places' | 'nextDepartureAt'>

function partsOf({ quotas, concurrency }: Limit, read: PartsRead | undefined): Part[] {
  const parts = quotas.map((quota): Part => {
    const { amount, unit, window } = quota
    const name = nameOfQuota(quota)
    const part = { name, amount, unit, windowMs: lengthOf(window) / MILLISECOND }
    if (read === undefined) return part
    // By name: the limit may have changed in between. A bucket that is forgotten counts nothing.
    const { used } = read.quotas?.find((known) => known.quota === name) ?? { used: 0 }
    return { ...part, left: Math.max(0, amount - used) }
  })
  if (concurrency === Number.POSITIVE_INFINITY) return parts
  const left = read && { left: Math.max(0, concurrency - (read.places?.taken ?? 0)) }
  return [...parts, { name: `${concurrency} at once`, amount: concurrency, unit: AT_ONCE, ...left }]
}

/** The quota of a line, whose units become free with departures. */
export function quotaOfLine(
  { pattern, limit }: RuleView,
  admission: Accepted | Rejected,
  cost: number,
  read?: PartsRead,
): Quota {
  const governing = parseStoredLimit(limit)
  const { capacity, interval } = governing
  // Quotas and places may hold the jobs in line for longer than their pace does.
  const waitMs = admission.accepted
    ? (nextWaitMs(admission, read?.nextDepartureAt) ?? headWaitMs(admission, cost, governing))
    : admission.retryAfterMs
  return {
    pattern,
    capacity,
    intervalMs: interval / MILLISECOND,
    free: Math.max(0, admission.capacity - admission.waiting),
    waitMs,
    parts: partsOf(governing, read),
  }
}

/** What was read of a total: undefined, nothing; null, that nothing lives below it. */
export type TotalRead = FamilyView | null | undefined

/** The quota of a total above the key of a job. `admission`: the answer to it, where that came before the read. */
export function quotaOfTotal({ pattern, limit }: RuleView, read?: TotalRead, admission?: Accepted): Quota {
  const total = parseStoredLimit(limit)
  const { capacity, interval } = total
  return {
    pattern,
    capacity,
    intervalMs: interval / MILLISECOND,
    ...(read !== undefined && { free: Math.max(0, capacity - (read?.waiting ?? 0)) }),
    waitMs: admission && nextWaitMs(admission, read?.nextDepartureAt),
    parts: partsOf(total, read === null ? {} : read),
  }
}

/** The time from the verdict until the next job departs, at `next`; undefined where it is not known. */
function nextWaitMs(accepted: Accepted, next: number | undefined): number | undefined {
  // A verdict that is repeated has the times of the first.
  if (next === undefined || accepted.replayed) return undefined
  const now = accepted.departsAt - accepted.waitMs
  return Math.max(0, next - now)
}

/**
 * The time until the first job in line departs, under a pace alone: as many intervals before the new job as there are units
 * between them. The warmth of the bucket is unknown here: a cold bucket gives the earliest time, a warm one the latest, bounded by one
 * cold interval.
 */
function headWaitMs({ waitMs, waiting }: Accepted, cost: number, limit: Limit): number {
  const units = Math.max(0, waiting - cost)
  const soonest = waitMs - spacing(limit, 0, units) / MILLISECOND
  const latest = waitMs - (limit.interval * units) / MILLISECOND
  return Math.max(0, soonest, Math.min(latest, limit.coldInterval / MILLISECOND))
}

/** The quota of a meter, whose free space is a fraction; only whole units count. */
export function quotaOfMeter(reading: MeterReading): Quota {
  const {
    accepted,
    pattern,
    capacity,
    intervalMs,
    space,
    level,
    blocked,
    retryAfterMs,
    quotas = [],
  } = reading
  const whole = Math.floor(space + ROUNDING)
  // The level exceeds the capacity after a limit was lowered.
  const nextWholeMs = whole < capacity ? (whole + 1 + level - capacity) * intervalMs : 0
  return {
    pattern,
    capacity,
    intervalMs,
    free: blocked ? 0 : whole,
    waitMs: accepted || !Number.isFinite(retryAfterMs) ? nextWholeMs : retryAfterMs,
    parts: quotas.map(({ quota, amount, unit, windowMs, used, roomInMs }) => ({
      name: quota,
      amount,
      unit,
      windowMs,
      left: Math.max(0, amount - used),
      ...(roomInMs > 0 && { waitMs: roomInMs }),
    })),
  }
}

/** The policy that refused a fill. */
export function policyRefusing({ pattern, refusedBy }: MeterReading): string {
  return refusedBy === undefined ? policyName(pattern) : partName(pattern, refusedBy.quota)
}

/**
 * The policy that refused a job; undefined where that is not known. A deadline is missed because of a line, whose order its pace and its
 * quotas make.
 *
 * @param heldBy what would let the job go last, of those that miss a deadline
 */
export function policyRefusingJob(
  { pattern, limit }: RuleView,
  { reason, quota }: Rejected,
  heldBy: Hold | undefined,
): string | undefined {
  if (quota !== undefined) return partName(pattern, quota)
  if (reason !== 'deadline' || parseStoredLimit(limit).quotas.length === 0) return policyName(pattern)
  // Behind places that are taken, the quota is not told.
  if (heldBy === undefined || heldBy.reason === 'place') return undefined
  return heldBy.quota === undefined ? policyName(pattern) : partName(pattern, heldBy.quota)
}

import { createHash } from 'node:crypto'
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

const SECOND_MS = 1_000
/** The tolerated rounding error of sums of fractions, in units and in seconds. */
const ROUNDING = 1e-9
/** The largest Integer of a structured field. */
const LARGEST = 999_999_999_999_999

/** What the headers say about a bucket of a line or a meter, or about a total above it. */
export interface Quota {
  /** The pattern of the governing rule, or of the total. */
  readonly pattern: string
  readonly capacity: number
  /** The time in which one unit leaks. */
  readonly intervalMs: number
  /** Whole units that fit now; absent where that was not read. */
  readonly free?: number
  /** The time until the next unit fits; after a refusal, until the same request fits. Absent where it is not known. */
  readonly waitMs?: number
  /** The further parts of the limit. */
  readonly parts?: readonly Part[]
}

/** A quota of a limit, or what may run at once, as a policy of its own. */
interface Part {
  /** Beside the pattern. */
  readonly name: string
  readonly amount: number
  /** Absent where nothing is counted by time. */
  readonly windowMs?: number
  /** Absent: cost units. */
  readonly unit?: string | undefined
  /** What is left now; absent where it is not known. */
  readonly left?: number
  /** The time until a meter has room for another fill, where it has none now. */
  readonly waitMs?: number
}

/** What the quotas and places of a bucket, or of a total, count, and when its next job departs. */
export type PartsRead = Pick<BucketView, 'quotas' | 'places' | 'nextDepartureAt'>

/** The unit of what runs at once, by the draft. */
const AT_ONCE = 'concurrent-requests'

/**
 * `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): the governing pattern; `q` how many
 * units it holds, `w` the seconds in which all of them leak; `r` the units that are free, `t` the seconds until the next
 * one is. After a refusal `t` is the time after which the same request fits. Each quota of a limit, and what may run at once, is a
 * further policy, with its unit as `qu`: `r` is what has not started in its window. Of a line it has no `t`: the jobs that wait take the
 * room first, so that a time at which a quota has some would be too early for another job.
 *
 * Totals above the key are policies of the same kind, under their own patterns.
 */
export function rateLimitHeaders(governing: Quota, totals: readonly Quota[] = []) {
  const quotas = [governing, ...totals]
  return {
    'ratelimit-policy': quotas.flatMap(policiesOf).join(', '),
    ratelimit: quotas.flatMap(freeOf).join(', '),
  }
}

function policiesOf({ pattern, capacity, intervalMs, parts = [] }: Quota): string[] {
  const name = fieldString(policyName(pattern))
  const line = `${name};q=${integer(capacity)};w=${seconds(capacity * intervalMs)}`
  return [line, ...parts.map((part) => policyOf(pattern, part))]
}

function freeOf({ pattern, free, waitMs, parts = [] }: Quota): string[] {
  const name = fieldString(policyName(pattern))
  const line = free === undefined ? [] : [`${name};r=${integer(free)}${waitField(waitMs)}`]
  return [...line, ...parts.flatMap((part) => leftOf(pattern, part) ?? [])]
}

function policyOf(pattern: string, { name, amount, windowMs, unit }: Part): string {
  const window = windowMs === undefined ? '' : `;w=${seconds(windowMs)}`
  return `${nameOf(pattern, name)};q=${integer(amount)}${window}${unitField(unit)}`
}

function leftOf(pattern: string, { name, unit, left, waitMs }: Part): string | undefined {
  if (left === undefined) return undefined
  return `${nameOf(pattern, name)};r=${integer(left)}${waitField(waitMs)}${unitField(unit)}`
}

function waitField(waitMs: number | undefined): string {
  return waitMs === undefined ? '' : `;t=${seconds(waitMs)}`
}

function nameOf(pattern: string, part: string): string {
  return fieldString(partName(pattern, part))
}

function partName(pattern: string, part: string): string {
  return `${policyName(pattern)} ${part}`
}

function unitField(unit: string | undefined): string {
  return unit === undefined ? '' : `;qu=${fieldString(unit)}`
}

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
  return {
    pattern,
    capacity,
    intervalMs: interval / MILLISECOND,
    free: Math.max(0, admission.capacity - admission.waiting),
    waitMs: admission.accepted ? nextWaitMs(admission, cost, governing, read) : admission.retryAfterMs,
    parts: partsOf(governing, read),
  }
}

/** What was read of a total: undefined, nothing; null, that nothing lives below it. */
export type TotalRead = FamilyView | null | undefined

/** The quota of a total above the key of a job. `admission`: the answer to it, where that came before the read. */
export function quotaOfTotal({ pattern, limit }: RuleView, read?: TotalRead, admission?: Accepted): Quota {
  const total = parseStoredLimit(limit)
  const { capacity, interval } = total
  const next = read?.nextDepartureAt
  // A verdict that is repeated has the times of the first.
  const now =
    admission === undefined || admission.replayed ? undefined : admission.departsAt - admission.waitMs
  return {
    pattern,
    capacity,
    intervalMs: interval / MILLISECOND,
    ...(read !== undefined && { free: Math.max(0, capacity - (read?.waiting ?? 0)) }),
    ...(next !== undefined && now !== undefined && { waitMs: Math.max(0, next - now) }),
    parts: partsOf(total, read === null ? {} : read),
  }
}

/** The time until the first job in line departs. Quotas and places may hold jobs behind it for longer than their pace does. */
function nextWaitMs(accepted: Accepted, cost: number, limit: Limit, read: PartsRead | undefined): number {
  const next = read?.nextDepartureAt
  // A verdict that is repeated has the times of the first.
  if (next === undefined || accepted.replayed) return headWaitMs(accepted, cost, limit)
  const now = accepted.departsAt - accepted.waitMs
  return Math.max(0, next - now)
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

/** The value of `Retry-After`: whole seconds, at least one. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, seconds(retryAfterMs))
}

/** The pattern, or its digest where the pattern is not ASCII and cannot stand in a header. */
export function policyName(pattern: string): string {
  if (/^[ -~]*$/.test(pattern)) return pattern
  return `sha256-${createHash('sha256').update(pattern).digest('hex').slice(0, 16)}`
}

/**
 * The same under a pace alone: as many intervals before the new job as there are units between them.
 * The warmth of the bucket is unknown here: a cold bucket gives the earliest time, a warm one the latest, bounded by one
 * cold interval.
 */
function headWaitMs({ waitMs, waiting }: Accepted, cost: number, limit: Limit): number {
  const units = Math.max(0, waiting - cost)
  const soonest = waitMs - spacing(limit, 0, units) / MILLISECOND
  const latest = waitMs - (limit.interval * units) / MILLISECOND
  return Math.max(0, soonest, Math.min(latest, limit.coldInterval / MILLISECOND))
}

/** Writes a String of a structured field (RFC 9651). */
function fieldString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** Whole seconds, rounded up; 3 x 333.3 ms are one. */
function seconds(ms: number): number {
  return integer(Math.ceil(ms / SECOND_MS - ROUNDING))
}

function integer(value: number): number {
  return Math.min(LARGEST, value)
}

import { createHash } from 'node:crypto'
import { MILLISECOND } from '../core/duration.ts'
import type { Accepted, Rejected } from '../core/job.ts'
import { type Limit, parseLimit } from '../core/limit.ts'
import type { RuleView } from '../core/rule-view.ts'
import { spacing } from '../core/warmth.ts'
import type { MeterReading } from '../meter/meter.ts'

const SECOND_MS = 1_000
/** Of a unit and of a second, what a sum of fractions may be off by. */
const ROUNDING = 1e-9
/** The largest Integer of a structured field. */
const LARGEST = 999_999_999_999_999

/** What the fields tell of a bucket, be it a line or a meter. */
export interface Quota {
  /** Of the rule that governs. */
  readonly pattern: string
  readonly capacity: number
  /** In which one unit leaks. */
  readonly intervalMs: number
  /** Whole units that would go in now. */
  readonly free: number
  /** Until the next one would; after a refusal: until the same would. */
  readonly waitMs: number
}

/**
 * `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): the governing pattern; `q` how many
 * units it holds, `w` the seconds in which all of them leak; `r` the units that are free, `t` the seconds until the next
 * one is. After a refusal `t` is the time after which the same request fits.
 */
export function rateLimitHeaders({ pattern, capacity, intervalMs, free, waitMs }: Quota) {
  const name = fieldString(pattern)
  return {
    'ratelimit-policy': `${name};q=${integer(capacity)};w=${seconds(capacity * intervalMs)}`,
    ratelimit: `${name};r=${integer(free)};t=${seconds(waitMs)}`,
  }
}

/** Of a line: its units are free when somebody departs. */
export function quotaOfLine(
  { pattern, limit }: RuleView,
  admission: Accepted | Rejected,
  cost: number,
): Quota {
  const governing = parseLimit(limit)
  const { capacity, interval } = governing
  return {
    pattern,
    capacity,
    intervalMs: interval / MILLISECOND,
    free: Math.max(0, admission.capacity - admission.waiting),
    waitMs: admission.accepted ? headWaitMs(admission, cost, governing) : admission.retryAfterMs,
  }
}

/** Of a meter: what is free is a fraction, and a unit counts when all of it is. */
export function quotaOfMeter(reading: MeterReading): Quota {
  const { accepted, pattern, capacity, intervalMs, space, level, blocked, retryAfterMs } = reading
  const whole = Math.floor(space + ROUNDING)
  // After a limit was lowered the level may be above it.
  const nextWholeMs = whole < capacity ? (whole + 1 + level - capacity) * intervalMs : 0
  return {
    pattern,
    capacity,
    intervalMs,
    free: blocked ? 0 : whole,
    waitMs: accepted || !Number.isFinite(retryAfterMs) ? nextWholeMs : retryAfterMs,
  }
}

/** Whole seconds, at least one. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, seconds(retryAfterMs))
}

/** A pattern that is not ASCII cannot stand in a header: its digest does. */
export function policyName(pattern: string): string {
  if (/^[ -~]*$/.test(pattern)) return pattern
  return `sha256-${createHash('sha256').update(pattern).digest('hex').slice(0, 16)}`
}

/**
 * When the first in line leaves, who is as many intervals ahead of the newcomer as units stand between them. How warm
 * the bucket is nobody said: a cold one makes it soonest, a warm one latest, but then not later than a cold interval.
 */
function headWaitMs({ waitMs, waiting }: Accepted, cost: number, limit: Limit): number {
  const units = Math.max(0, waiting - cost)
  const soonest = waitMs - spacing(limit, 0, units) / MILLISECOND
  const latest = waitMs - (limit.interval * units) / MILLISECOND
  return Math.max(0, soonest, Math.min(latest, limit.coldInterval / MILLISECOND))
}

/** A String of a structured field (RFC 9651). */
function fieldString(pattern: string): string {
  return `"${policyName(pattern).replace(/["\\]/g, '\\$&')}"`
}

/** Whole ones, rounded up: 3 x 333.3 ms are one. */
function seconds(ms: number): number {
  return integer(Math.ceil(ms / SECOND_MS - ROUNDING))
}

function integer(value: number): number {
  return Math.min(LARGEST, value)
}

import { createHash } from 'node:crypto'
import { MILLISECOND } from '../core/duration.ts'
import type { Accepted, Rejected } from '../core/job.ts'
import { type Limit, parseLimit } from '../core/limit.ts'
import { spacing } from '../core/warmth.ts'
import type { RuleView } from '../shaper/limits.ts'

const SECOND_MS = 1_000
const SECOND_US = 1_000_000
/** The largest Integer of a structured field. */
const LARGEST = 999_999_999_999_999

/**
 * `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): the governing pattern; `q` how many
 * cost units may wait, `w` the seconds in which a full line drains; `r` the units that are free, `t` the seconds until
 * the next one is. After a refusal `t` is the time after which the same request fits.
 */
export function rateLimitHeaders({ pattern, limit }: RuleView, admission: Accepted | Rejected, cost: number) {
  const governing = parseLimit(limit)
  const { capacity, interval } = governing
  const name = fieldString(pattern)
  const free = Math.max(0, admission.capacity - admission.waiting)
  const seconds = admission.accepted
    ? Math.ceil(headWaitMs(admission, cost, governing) / SECOND_MS)
    : retryAfterSeconds(admission.retryAfterMs)
  return {
    'ratelimit-policy': `${name};q=${integer(capacity)};w=${integer(Math.ceil((capacity * interval) / SECOND_US))}`,
    ratelimit: `${name};r=${integer(free)};t=${integer(seconds)}`,
  }
}

/** Whole seconds, at least one. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return integer(Math.max(1, Math.ceil(retryAfterMs / SECOND_MS)))
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

function integer(value: number): number {
  return Math.min(LARGEST, value)
}

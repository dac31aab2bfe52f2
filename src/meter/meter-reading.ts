import type { FillOutcome } from '../core/diagnostics.ts'
import { MILLISECOND } from '../core/duration.ts'
import { factsAt, isFull, type MeterFill, type MeterState, waitFor } from '../core/meter.ts'
import { countsAt, type QuotaMeterState, refusalOf } from '../core/meter-quotas.ts'
import { lengthOf } from '../core/quota.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import type { MeterRule } from './meter-limits.ts'
import type { Filled, QuotaFilled, QuotaFillRequest } from './meter-store.ts'

/** The level of a bucket at one instant. Units are real numbers. */
export interface MeterLevel {
  readonly level: number
  /** Units that fit; 0 if the limit was lowered below the level. */
  readonly space: number
  /** The level has reached the capacity. It keeps leaking, so this is true only at that instant. */
  readonly full: boolean
  /** Every fill is refused, whatever fits: see the option `blockWhenFull`. */
  readonly blocked: boolean
  /** Milliseconds, perhaps a fraction, until the bucket is empty if no fill comes; at the rate of the last fill. */
  readonly emptyInMs: number
  readonly capacity: number
  /** Milliseconds, perhaps a fraction, in which one unit leaks. */
  readonly intervalMs: number
  /** The pattern of the rule that applies to the key. */
  readonly pattern: string
  /** What the quotas of the limit count, in their order; absent where it has none. */
  readonly quotas?: readonly MeterQuota[]
}

/** What a quota counts at one instant. */
export interface MeterQuota {
  /** As text, such as `2000/day` or `90000 tokens/minute`. */
  readonly quota: string
  /** What it counts; absent: units of the bucket. */
  readonly unit?: string
  readonly amount: number
  /** Units of fills in its window; may exceed `amount` after the limit was lowered. */
  readonly used: number
  /** The length of its window in milliseconds; of a day or week of a calendar about so long. */
  readonly windowMs: number
  /** Milliseconds until there is room for one unit more, or for as many as a fill counts that does not name the unit; 0: now. */
  readonly roomInMs: number
}

/** The level of a bucket, and whether an amount would fit. */
export interface MeterForecast extends MeterLevel {
  /** Whether the whole amount would fit now, everywhere; another fill may come first. */
  readonly accepted: boolean
}

/** The result of a fill; the level is that after the fill. */
export interface MeterReading extends MeterLevel {
  /** The whole amount went in. */
  readonly accepted: boolean
  /**
   * 0 if accepted. Otherwise whole milliseconds, at least 1, after which the same fill is accepted, if no other came in
   * between. Infinity: it exceeds the capacity or a whole quota, and is never accepted.
   */
  readonly retryAfterMs: number
  /**
   * The quota that refused it: of several the one that has room last, or which it alone exceeds. Absent if accepted, and where the
   * bucket itself refused for as long, or longer.
   */
  readonly refusedBy?: Pick<MeterQuota, 'quota' | 'unit'>
}

export function levelOf(rule: MeterRule, state: MeterState, now: number): MeterLevel {
  const { accepted: _, retryAfterMs: __, ...level } = readingOf(rule, state, now, true, 0)
  return level
}

/** One literal for all of it, and not frozen: each would double the cost of a fill in memory. */
export function readingOf(
  { pattern, limit }: MeterRule,
  state: MeterState,
  now: number,
  accepted: boolean,
  retryAfterMs: number,
): MeterReading {
  const { capacity, interval } = limit
  const { level, isBlocked, emptyIn } = factsAt(state, interval, now)
  return {
    level,
    space: Math.max(0, capacity - level),
    full: isFull(level, capacity),
    blocked: isBlocked,
    emptyInMs: emptyIn / MILLISECOND,
    capacity,
    intervalMs: interval / MILLISECOND,
    pattern,
    accepted,
    retryAfterMs,
  }
}

/** `levelOf` for a limit with quotas. */
export function quotaLevelOf(rule: MeterRule, state: QuotaMeterState, now: number): MeterLevel {
  const quotas = countsAt(state, rule.limit, now).map(({ quota, used, roomIn }) => ({
    quota: nameOfQuota(quota),
    ...(quota.unit !== undefined && { unit: quota.unit }),
    amount: quota.amount,
    used,
    windowMs: lengthOf(quota.window) / MILLISECOND,
    roomInMs: roomIn / MILLISECOND,
  }))
  return Object.assign(levelOf(rule, state, now), { quotas })
}

export function quotaReadingOf(
  rule: MeterRule,
  filled: QuotaFilled,
  request: QuotaFillRequest,
): MeterReading {
  const { accepted, state, now } = filled
  const level = quotaLevelOf(rule, state, now)
  if (accepted) return { ...level, accepted, retryAfterMs: 0 }
  const { retryAfterMs, quota } = refusalOf(state, request, now)
  const refusedBy = quota && {
    quota: nameOfQuota(quota),
    ...(quota.unit !== undefined && { unit: quota.unit }),
  }
  return { ...level, accepted, retryAfterMs, ...(refusedBy && { refusedBy }) }
}

export function outcomeOf({ accepted, state, now }: Filled, request: MeterFill): FillOutcome {
  if (accepted) return 'accepted'
  if (waitFor(state, request, now) === Number.POSITIVE_INFINITY) return 'never-fits'
  const { isBlocked } = factsAt(state, request.interval, now)
  // A block that begins now was caused by this fill.
  return isBlocked && state.blockedUntil !== now + request.block ? 'blocked' : 'full'
}

/** The same for a limit with quotas. */
export function quotaOutcomeOf(
  filled: QuotaFilled,
  request: QuotaFillRequest,
  reading: MeterReading,
): FillOutcome {
  if (reading.retryAfterMs === Number.POSITIVE_INFINITY) return 'never-fits'
  const outcome = outcomeOf(filled, request)
  return outcome === 'full' && reading.refusedBy !== undefined ? 'quota' : outcome
}

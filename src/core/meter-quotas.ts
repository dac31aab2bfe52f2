/**
 * A meter whose limit has quotas beside its rate: the bucket of meter.ts, and what counts in each quota, as quota.ts counts it. A
 * fill goes in if the bucket and every quota have room for it, and then it is charged to all of them; a refused one to none.
 *
 * Law L10 holds at each fill: what went in during the window, with this fill, is at most the amount of the quota. Only whole units
 * are charged, so that the sums are exact. Everything here is pure, like meter.ts.
 */

import { MILLISECOND } from './duration.ts'
import {
  EMPTY,
  fillWhere,
  fits,
  forgottenAt,
  type MeterFill,
  type MeterState,
  type MeterVerdict,
  refusedForMs,
} from './meter.ts'
import * as quotas from './quota.ts'
import { type Quota, type QuotaWindow, usedAt } from './quota.ts'
import { changeUsage } from './remembered.ts'
import { charge, forgettableAt, holdOf, roomAt, tidy, type Usage } from './usage.ts'

/** What counts in quotas: for each of them, in their order. */
export interface CountedQuotas {
  readonly quotas: readonly QuotaWindow[]
  readonly uses: readonly quotas.QuotaUse[]
}

/** The state of a meter; `counted` is absent while nothing counts in a quota. */
export interface QuotaMeterState extends MeterState {
  readonly counted?: CountedQuotas
}

export interface QuotaMeterFill extends MeterFill {
  readonly quotas: readonly Quota[]
  /** What the fill counts in each quota, in their order; whole numbers, 0 or more. */
  readonly charges: readonly number[]
}

export interface QuotaMeterVerdict extends MeterVerdict {
  readonly state: QuotaMeterState
}

/**
 * Fills the bucket and charges the quotas, or neither. The state has what counts at `now` under the quotas of the request; one that
 * was stored under others goes on as in `changeUsage`.
 */
export function fillQuotas(before: QuotaMeterState, request: QuotaMeterFill, now: number): QuotaMeterVerdict {
  const uses = usesAt(before, request, now)
  const { accepted, state } = fillWhere(areFree(request, uses, now), before, request, now)
  if (accepted) charge(request, uses, request.charges, now)
  return { accepted, state: withUses(state, request.quotas, uses) }
}

/** What counts in the quotas at `now`, each time as objects of its own. */
export function usesAt(
  { counted }: QuotaMeterState,
  limit: Pick<QuotaMeterFill, 'quotas'>,
  now: number,
): Usage {
  const { quotas: before = [], uses = [] } = counted ?? {}
  const usage = changeUsage({ quotas: before }, uses, limit, now)
  tidy(limit, usage, now)
  return usage
}

/** Whether the bucket and every quota have room at `now`. */
export function allFit(state: QuotaMeterState, request: QuotaMeterFill, now: number): boolean {
  return fits(state, request, now) && areFree(request, usesAt(state, request, now), now)
}

/** Why a fill was refused, and when the same one is accepted if no other comes first. */
export interface QuotaRefusal {
  /** Whole milliseconds, at least 1; Infinity: never. */
  readonly retryAfterMs: number
  /** The quota for which it waits longest, or which it alone exceeds; undefined: the bucket refuses for as long, or longer. */
  readonly quota: Quota | undefined
}

/** What to tell a fill that was refused at `now`. Call it with the state before or after that. */
export function refusalOf(state: QuotaMeterState, request: QuotaMeterFill, now: number): QuotaRefusal {
  const { charges } = request
  const bucketMs = fits(state, request, now) ? 0 : refusedForMs(state, request, now)
  const exceeded = request.quotas.find(({ amount }, index) => charges[index]! > amount)
  if (bucketMs === Number.POSITIVE_INFINITY) return { retryAfterMs: bucketMs, quota: undefined }
  if (exceeded !== undefined) return { retryAfterMs: Number.POSITIVE_INFINITY, quota: exceeded }
  const uses = usesAt(state, request, now)
  const from = now + bucketMs * MILLISECOND
  const hold = holdOf(request, uses, charges, from)
  const wait = hold === undefined ? from - now : hold.until - now
  return {
    retryAfterMs: Math.max(1, Math.ceil(wait / MILLISECOND)),
    quota: hold && request.quotas[hold.index],
  }
}

/** What a quota counts at one instant. */
export interface QuotaCount {
  readonly quota: Quota
  readonly used: number
  /** Microseconds until there is room for one unit more, or for as many as a fill counts that does not say. */
  readonly roomIn: number
}

export function countsAt(
  state: QuotaMeterState,
  limit: Pick<QuotaMeterFill, 'quotas'>,
  now: number,
): QuotaCount[] {
  const uses = usesAt(state, limit, now)
  return limit.quotas.map((quota, index) => ({
    quota,
    used: usedAt(quota, uses[index]!, now),
    roomIn: quotas.roomAt(quota, uses[index]!, quota.each ?? 1, now) - now,
  }))
}

/** `forgottenAt` of meter.ts, and when nothing counts any more. */
export function quotasForgottenAt(state: QuotaMeterState): number {
  const { counted } = state
  return counted === undefined
    ? forgottenAt(state)
    : Math.max(forgottenAt(state), forgettableAt(counted, counted.uses))
}

/** Joins the level and what counts; `EMPTY` where that is nothing. */
export function withUses(
  { level, at, blockedUntil, interval }: MeterState,
  parts: readonly QuotaWindow[],
  uses: readonly quotas.QuotaUse[],
): QuotaMeterState {
  const state = interval === 0 ? EMPTY : { level, at, blockedUntil, interval }
  if (uses.every(({ ends }) => ends.length === 0)) return state
  return { ...state, counted: { quotas: parts, uses } }
}

function areFree({ quotas: parts, charges }: QuotaMeterFill, uses: Usage, now: number): boolean {
  const isExceeded = parts.some(({ amount }, index) => charges[index]! > amount)
  return !isExceeded && roomAt({ quotas: parts }, uses, charges, now) === now
}

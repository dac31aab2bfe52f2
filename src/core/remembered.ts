/**
 * What a bucket remembers of quotas that its limit has no more. Law L10 looks back a whole window at each start, also when a quota comes
 * back, or one with another window comes. So a quota that a change takes away is counted on, without an amount, for as long as its window
 * lasts from then on; one of a calendar, until its period ends. It is forgotten before that when nothing counts in it any more.
 */

import type { Limit } from './limit.ts'
import type { Quota, QuotaUse, QuotaWindow } from './quota.ts'
import {
  carryOver,
  copyUse,
  createUse,
  entriesAt,
  forgettableAt,
  isRolling,
  isSameWindow,
  LENGTHS,
  lengthOf,
} from './quota.ts'
import type { Quotas, Usage, Windows } from './usage.ts'

/** As many as a limit may have quotas, so that all of one limit can come back. Of more, those are remembered that end last. */
export const MOST_REMEMBERED = 8
/** No period of a calendar is longer than most are by more. */
export const LONGER = 2 * LENGTHS.hour

/** By which quotas the starts of a bucket are counted, and what those count: see `Bucket`. */
export interface Counting {
  readonly limit: Limit
  counted?: Quotas | undefined
  usage: Usage | undefined
}

/** Counts on under the limit what was counted until now, and forgets what of that is over. */
export function changeCounted(bucket: Counting, limit: Limit, now: number): void {
  const { usage = [], counted = bucket.limit } = bucket
  const after = countedUnder(limit, counted, usage, now)
  bucket.usage = after.quotas.length === 0 ? undefined : changeUsage(counted, usage, after, now)
  if (after !== limit) bucket.counted = after
  else if (bucket.counted !== undefined) bucket.counted = undefined
}

/** Returns the usage under a limit that changed at `now`: each quota goes on from its `sourceOf`, and one without a source begins empty. */
export function changeUsage(before: Windows, usage: Readonly<Usage>, after: Quotas, now: number): Usage {
  return after.quotas.map((quota) => {
    const source = sourceOf(before, usage, quota, now)
    if (source === undefined) return createUse()
    const [known, use] = [before.quotas[source]!, usage[source]!]
    return isSameWindow(known, quota) ? copyUse(use) : carryOver(known, use, quota, now)
  })
}

/**
 * Returns the quotas by which starts are counted under the limit `after`, which was set at `now`: its own, and behind them those that
 * are remembered. Where that is none, it is `after` itself.
 *
 * @param before by which they were counted until now, and `usage` what these count
 */
export function countedUnder(after: Quotas, before: Quotas, usage: readonly QuotaUse[], now: number): Quotas {
  const past: Quota[] = []
  for (const [index, quota] of before.quotas.entries()) {
    const { unit, window, until = endsAt(quota, now) } = quota
    if (until <= now || forgettableAt(usage[index]!) <= now) continue
    if (after.quotas.some((other) => knows(other, quota))) continue
    // All quotas of a unit count the same.
    const { each } = [...after.quotas, ...before.quotas].find((other) => other.unit === unit)!
    past.push({ amount: Number.POSITIVE_INFINITY, unit, each, window, until })
  }
  const kept = past.filter((quota) => !past.some((other) => outlasts(other, quota)))
  while (kept.length > MOST_REMEMBERED) {
    const first = Math.min(...kept.map(({ until }) => until!))
    kept.splice(
      kept.findIndex(({ until }) => until === first),
      1,
    )
  }
  return kept.length === 0 ? after : { quotas: [...after.quotas, ...kept] }
}

/** Whether one of the quotas is remembered, and is to be forgotten. */
export function hasOver({ quotas }: Windows, usage: readonly QuotaUse[], now: number): boolean {
  return quotas.some((quota, index) => isOver(quota, usage[index]!, now))
}

/**
 * Returns the place of the quota from which one goes on that was set at `now`: the one with the same window, or the shortest that
 * rolls and looks back as far, or else the one that looks back farthest. Undefined: none of its unit is known.
 */
export function sourceOf(
  before: Windows,
  usage: readonly QuotaUse[],
  quota: QuotaWindow,
  now: number,
): number | undefined {
  let best: number | undefined
  for (const [index, known] of before.quotas.entries()) {
    if (known.unit !== quota.unit || isOver(known, usage[index]!, now)) continue
    if (isSameWindow(known, quota)) return index
    if (best === undefined || isBetter(known, before.quotas[best]!, quota)) best = index
  }
  return best
}

function isOver({ until }: QuotaWindow, use: QuotaUse, now: number): boolean {
  return until !== undefined && (until <= now || forgettableAt(use) <= now)
}

/** When the window is over in which a start at `now` counts. */
function endsAt(quota: Quota, now: number): number {
  return isRolling(quota.window) ? now + quota.window.length : entriesAt(quota, now).at(-1)!
}

/** Whether what counts in a quota is known from another one. What a period of a calendar counts is not, without its times. */
function knows(other: QuotaWindow, quota: QuotaWindow): boolean {
  return other.unit === quota.unit && (isSameWindow(other, quota) || isLonger(other, quota))
}

function outlasts(other: Quota, quota: Quota): boolean {
  return other.unit === quota.unit && isLonger(other, quota) && other.until! >= quota.until!
}

function isLonger({ window }: QuotaWindow, { window: other }: QuotaWindow): boolean {
  return isRolling(window) && isRolling(other) && window.length > other.length
}

function isBetter(quota: QuotaWindow, best: QuotaWindow, wanted: QuotaWindow): boolean {
  const [isEnough, isBestEnough] = [looksBack(quota, wanted), looksBack(best, wanted)]
  if (isEnough !== isBestEnough) return isEnough
  const longer = lengthOf(quota.window) - lengthOf(best.window)
  return isEnough ? longer < 0 : longer > 0
}

/** Whether it surely looks back as far as the one that is wanted. */
function looksBack({ window }: QuotaWindow, { window: wanted }: QuotaWindow): boolean {
  return isRolling(window) && window.length >= lengthOf(wanted) + (isRolling(wanted) ? 0 : LONGER)
}

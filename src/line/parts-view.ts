import type { BucketView } from '../core/bucket-view.ts'
import { MILLISECOND } from '../core/duration.ts'
import type { Hold } from '../core/hold.ts'
import type { Limit } from '../core/limit.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import { frozenText, lineText, pausedText, placesText, quotaText, SPACED } from './hold-text.ts'
import type { LineHold } from './job-facts.ts'

/** What one quota counts now, and when one more job has room; in microseconds. */
interface QuotaCount {
  readonly used: number
  readonly roomAt: number
}

/** A job that waits, or would, and what keeps it. Times are microseconds. */
export interface Waits {
  /** Of the total below which it waits; absent where the limit is that of its bucket. */
  readonly path?: string
  /** How many jobs depart before it. */
  readonly ahead: number
  /** When other limits let it go, where there are any. */
  readonly readyAt?: number
  readonly departsAt: number
  /** The last quota that holds it or a job ahead of it. */
  readonly quota: LineHold | undefined
  readonly paused: boolean
  readonly frozenUntil: number
  /** No place is free. */
  readonly isFull: boolean
  /** It is to be tried again at a later time. */
  readonly backsOff?: boolean
}

/**
 * Shows what quotas and places count, and what holds the head of the line; empty for a limit that has none.
 *
 * @param counts one for each quota of the limit, in their order
 * @param taken how many places are taken
 * @param head the first job of the line, if there is one
 */
export function partsView(
  limit: Limit,
  counts: readonly QuotaCount[],
  taken: number,
  head: Waits | undefined,
  now: number,
): Pick<BucketView, 'quotas' | 'places' | 'heldBy'> {
  const { quotas, concurrency } = limit
  const views = quotas.map((quota, index) => {
    const { used, roomAt } = counts[index]!
    const later = roomAt > now && { roomAt: roomAt / MILLISECOND }
    return { quota: nameOfQuota(quota), used, amount: quota.amount, ...later }
  })
  const heldBy = head && lastHoldOf(head, limit, now)
  return {
    ...(views.length > 0 && { quotas: views }),
    ...(Number.isFinite(concurrency) && { places: { taken, of: concurrency } }),
    ...(heldBy && { heldBy }),
  }
}

/** What holds a job, in the words of an explanation: a pause, the places, a quota, and only then the line and the pace; undefined where it may go now, or something below a total holds it. */
export function lastHoldOf(waits: Waits, limit: Limit, now: number): Hold | undefined {
  const { path, ahead, readyAt = now, departsAt, quota, paused, frozenUntil, isFull, backsOff } = waits
  if (paused) return { reason: 'paused', detail: pausedText(path) }
  if (isFull) return { reason: 'place', detail: placesText(limit) }
  if (departsAt <= Math.max(readyAt, now) || departsAt === Number.POSITIVE_INFINITY) return undefined
  if (quota !== undefined) {
    const detail = quotaText(limit, quota, now)
    const name = nameOfQuota(limit.quotas[quota.index]!)
    return { reason: 'quota', until: quota.until / MILLISECOND, quota: name, detail }
  }
  const until = departsAt / MILLISECOND
  const isFrozen = frozenUntil > now && (ahead > 0 || frozenUntil >= departsAt)
  if (isFrozen) return { reason: 'frozen', until: frozenUntil / MILLISECOND, detail: frozenText(path) }
  if (ahead > 0) return { reason: 'line', until, detail: lineText({ jobs: ahead, cost: ahead }) }
  if (backsOff) return { reason: 'backoff', until, detail: 'all that waits is to be tried again later' }
  return { reason: 'slot', until, detail: SPACED }
}

import type { BucketView } from '../core/bucket-view.ts'
import { MILLISECOND } from '../core/duration.ts'
import { hasParts, type Limit } from '../core/limit.ts'
import { formatLimit } from '../core/limit-format.ts'
import { isSameWindow, lengthOf, type Quota } from '../core/quota.ts'
import type { Rule } from '../core/rule-book.ts'
import type { PreviewedStanding } from '../core/rule-view.ts'

export function standing(
  { pattern, limit: text, fill }: BucketView,
  limit: Limit,
  drainMs: number,
): PreviewedStanding {
  return { pattern, limit: text, fill, drainMs, ...estimateOf(limit) }
}

export function standingUnder({ pattern, limit }: Rule, units: number, drainMs: number): PreviewedStanding {
  const fill = units / limit.capacity
  return { pattern, limit: formatLimit(limit), fill, drainMs, ...estimateOf(limit) }
}

/** What jobs name, when exactly it counts no more, and how long handlers hold their places, is not looked at. */
function estimateOf(limit: Limit): { readonly isEstimate?: true } {
  return hasParts(limit) ? { isEstimate: true } : {}
}

/** What waits in a bucket, and what its quotas count. */
export interface Waiting {
  readonly units: number
  readonly jobs: number
  /** Undefined where its limit has no quotas. */
  readonly counted: readonly Counted[] | undefined
}

interface Counted {
  readonly quota: Quota
  readonly used: number
  /** The time until there is room for one more job. */
  readonly roomIn: number
}

/** What the quotas of the limit, under which the bucket is, count. */
export function countedIn({ quotas }: Limit, view: BucketView): Counted[] | undefined {
  // A view says when its oldest job came and how long ago, and so when it was made.
  const now = (view.waitingSince ?? 0) + view.oldestWaitMs
  return view.quotas?.map(({ used, roomAt = now }, index) => ({
    quota: quotas[index]!,
    used,
    roomIn: (roomAt - now) * MILLISECOND,
  }))
}

/** The earliest time at which the last job departs: by the pace, or by the quota that takes longer. */
export function drainOf({ units, jobs, counted }: Waiting, { interval, quotas }: Limit): number {
  if (units === 0) return 0
  const drain = quotas.reduce((longest, quota) => {
    const { amount, each, window } = quota
    const wanted = each === undefined ? units : jobs * each
    // What is wanted beyond whole amounts; the first of those is there at once, and each further one has to come.
    const windows = Math.ceil(wanted / amount) - 1
    const known = counted?.find((other) => isKnownBy(other.quota, quota))
    const isHeld = known !== undefined && wanted - windows * amount > amount - known.used
    return Math.max(longest, windows * lengthOf(window) + (isHeld ? known.roomIn : 0))
  }, units * interval)
  return drain / MILLISECOND
}

/** Whether what counts in the one counts in the other, which has room no earlier. */
function isKnownBy(before: Quota, after: Quota): boolean {
  return isSameWindow(before, after) && before.unit === after.unit && after.amount <= before.amount
}

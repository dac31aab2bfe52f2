import { MILLISECOND } from '../core/duration.ts'
import type { BucketView } from '../core/job.ts'
import type { Limit } from '../core/limit.ts'
import { nameOfQuota } from '../core/quota-input.ts'

/** What one quota counts now, and when one more job has room; in microseconds. */
interface QuotaCount {
  readonly used: number
  readonly roomAt: number
}

/**
 * Shows what quotas and places count; empty for a limit that has none.
 *
 * @param counts one for each quota of the limit, in their order
 * @param taken how many places are taken
 */
export function partsView(
  { quotas, concurrency }: Limit,
  counts: readonly QuotaCount[],
  taken: number,
  now: number,
): Pick<BucketView, 'quotas' | 'places'> {
  const views = quotas.map((quota, index) => {
    const { used, roomAt } = counts[index]!
    const later = roomAt > now && { roomAt: roomAt / MILLISECOND }
    return { quota: nameOfQuota(quota), used, amount: quota.amount, ...later }
  })
  return {
    ...(views.length > 0 && { quotas: views }),
    ...(Number.isFinite(concurrency) && { places: { taken, of: concurrency } }),
  }
}

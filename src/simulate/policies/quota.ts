import { formatDuration } from '../../core/duration.ts'
import type { Limit } from '../../core/limit.ts'

/** A rate as windows know it: so many units in a window of that length. */
export interface Quota {
  readonly units: number
  /** Microseconds. */
  readonly window: number
}

/** The limit's count in its period. A count that is not whole is rounded up and the window grows with it. */
export function quotaOf(limit: Limit): Quota {
  const units = Math.ceil(limit.rate.count)
  return { units, window: units * limit.interval }
}

export function formatQuota({ units, window }: Quota): string {
  return `${units} per ${formatDuration(Math.round(window))}`
}

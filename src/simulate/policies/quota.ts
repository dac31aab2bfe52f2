import { formatDuration } from '../../core/duration.ts'
import type { Limit } from '../../core/limit.ts'

/** A rate for windows: a number of units per window of this length. */
export interface Quota {
  readonly units: number
  /** Microseconds. */
  readonly window: number
}

/** The limit's count per period. A fractional count is rounded up, and the window grows with it. */
export function quotaOf(limit: Limit): Quota {
  const units = Math.ceil(limit.rate.count)
  return { units, window: units * limit.interval }
}

export function formatQuota({ units, window }: Quota): string {
  return `${units} per ${formatDuration(Math.round(window))}`
}

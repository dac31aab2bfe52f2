import type { BucketView } from './bucket-view.ts'
import type { Hold } from './hold.ts'

/**
 * A live total: the limit of the sum of a family, and what its family has of it. Times are milliseconds since the epoch. `state`, `fill`,
 * `quotas` and `places` say of the sum what those of a bucket say of its line.
 */
export interface FamilyView
  extends Pick<
    BucketView,
    | 'pattern'
    | 'limit'
    | 'state'
    | 'capacity'
    | 'fill'
    | 'running'
    | 'frozenUntil'
    | 'paused'
    | 'quotas'
    | 'places'
  > {
  /** How the keys of the family begin, such as `stripe/`; the key `stripe` belongs to it, too. */
  readonly path: string
  /** The total right above it; absent where there is none. */
  readonly total?: string
  /** Cost units that wait in all lines below it, or for a retry. */
  readonly waiting: number
  /** Live buckets and live totals right below it. */
  readonly children: number
  /**
   * What of this total holds the next job below it, as in an explanation. Absent where that may go now, or waits for the limits of its own
   * bucket or of the totals above this one.
   */
  readonly heldBy?: Hold
  /**
   * When the next job below it departs, as its limit and those of the totals above it allow; absent if none waits, or it may not depart
   * before something changes.
   */
  readonly nextDepartureAt?: number
}

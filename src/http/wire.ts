import type { Audit } from '../conformance/history.ts'
import type { BucketView, Durability } from '../core/bucket-view.ts'
import type { FlowTotals, LineView, Recent } from '../core/line-view.ts'
import type { BucketTally } from '../line/bucket-query.ts'

export const SCOPES = ['enqueue', 'read', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

/** The answer of `GET /v1/session`: the holder of the token, and the service that answered. */
export interface Session {
  /** The name of the token; `anonymous` where the service has no tokens. */
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Empty: every key. */
  readonly prefixes: readonly string[]
  readonly backend: 'memory' | 'redis'
  readonly shaper: string
  readonly version: string
  readonly durability?: Durability
}

/** The event `snapshot`: sums over the live buckets that the token may see. Times are milliseconds since the epoch. */
export interface SnapshotEvent extends BucketTally {
  /** When the counting began. */
  readonly at: number
  readonly fullest: readonly FullBucket[]
  /**
   * Counts of all jobs ever. Only for tokens for every key, and while there are few enough buckets to recount each second. With more
   * than about 200 buckets it is counted in pieces, while the line moves.
   */
  readonly audit?: Audit
}

export type FullBucket = Pick<
  BucketView,
  'key' | 'state' | 'waiting' | 'capacity' | 'fill' | 'jobs' | 'oldestWaitMs' | 'nextDepartureAt'
>

/** The event `flow`. The first one of a stream also has the totals of the last minutes, oldest first. */
export interface FlowEvent extends FlowTotals {
  readonly earlier?: readonly FlowTotals[]
}

/** The event `bucket`. `bucket` and `line` are null while the bucket is not live. */
export interface BucketEvent {
  readonly at: number
  readonly bucket: BucketView | null
  readonly line: LineView | null
  readonly recent: Recent
}

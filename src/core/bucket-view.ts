import type { Hold } from './hold.ts'

/** What a quota of a limit counts now. */
export interface QuotaView {
  /** As text, such as `2000/day` or `90000 tokens/minute`. */
  readonly quota: string
  /** Units that started in its window, settled or estimated; may exceed `amount` after a settlement or a change of the limit. */
  readonly used: number
  readonly amount: number
  /** When there is room for a job that costs 1, or in a named unit what each job counts; absent: now. */
  readonly roomAt?: number
}

/** A live bucket. Times are milliseconds since the epoch. */
export interface BucketView {
  readonly key: string
  /** The pattern of the rule that applies to it, and its limit as text. */
  readonly pattern: string
  readonly limit: string
  /** `paused`, `frozen`, `full` (no room for one cost unit), `waiting`, or `idle` (empty, its `next` not yet past). */
  readonly state: BucketState
  /**
   * Cost units that wait, in the line or for a retry: what counts against `capacity` for a new job, as in the results
   * of `enqueue`. May exceed it, because retries are never rejected.
   */
  readonly waiting: number
  readonly capacity: number
  /** `waiting / capacity`. */
  readonly fill: number
  /** Jobs in the line, jobs that wait for a retry, and running handlers. */
  readonly jobs: number
  readonly retrying: number
  readonly running: number
  /** The total right above it, such as `stripe/`; absent where there is none. */
  readonly total?: string
  /**
   * When the next job departs; absent if none waits or the bucket is paused. Below totals no earlier than they let any job go: whose turn
   * it is then is not said here.
   */
  readonly nextDepartureAt?: number
  /** How long the oldest job has waited, 0 if none waits; and since when. */
  readonly oldestWaitMs: number
  readonly waitingSince?: number
  readonly frozenUntil?: number
  readonly paused: boolean
  /** What the quotas of its limit count; absent where it has none. */
  readonly quotas?: readonly QuotaView[]
  /** How many of the places of its limit are taken; absent where it does not bound what runs at once. */
  readonly places?: { readonly taken: number; readonly of: number }
  /**
   * What holds the first job of its line, as in an explanation: the quota, the places, the freeze, the pause or the pace that lets it go
   * last. Absent where it may depart now, nothing waits, or the limit is a pace alone.
   */
  readonly heldBy?: Hold
  /** When a job was last admitted or departed; absent if none was. */
  readonly lastUsedAt?: number
  /** What it takes for its jobs to be lost. */
  readonly durability: Durability
}

/**
 * What it takes for accepted jobs to be lost.
 *
 * | durability | jobs are lost                                                           |
 * |------------|-------------------------------------------------------------------------|
 * | memory     | when this process ends                                                  |
 * | none       | when Redis restarts: it writes no append-only file                      |
 * | everysec   | when the Redis machine loses power: those of the last second or two     |
 * | always     | with the disk of Redis                                                  |
 */
export const DURABILITIES = ['memory', 'none', 'everysec', 'always'] as const
export type Durability = (typeof DURABILITIES)[number]

export const BUCKET_STATES = ['idle', 'waiting', 'full', 'frozen', 'paused'] as const
export type BucketState = (typeof BUCKET_STATES)[number]

/** The state of a bucket in which `waiting` cost units wait. */
export function bucketState(
  waiting: number,
  capacity: number,
  isPaused: boolean,
  isFrozen: boolean,
): BucketState {
  if (isPaused) return 'paused'
  if (isFrozen) return 'frozen'
  if (waiting === 0) return 'idle'
  return waiting >= capacity ? 'full' : 'waiting'
}

import type { Hold } from './hold.ts'
import type { JobState } from './job.ts'
import type { RuleView } from './rule-view.ts'

/** Why a job is not running, or how it ended. Times are milliseconds since the epoch. */
export interface JobExplanation {
  readonly id: string
  readonly key: string
  readonly state: JobState
  /** Position in the line, only while it waits; 1 departs next. */
  readonly position?: number
  /** The expected departure; absent if unknown: the bucket is paused, or no handler is free. */
  readonly departsAt?: number
  /**
   * It may depart later than `departsAt`: the line is longer than is looked at, or retries or free places decide about it. Or
   * earlier: starts that may still be settled for less hold it. Below a total that others share, either may be. `summary` says which.
   */
  readonly isEstimate?: true
  /**
   * The longest that it waits, in milliseconds, as long as handlers are free and no key without jobs gets some below its totals. Only
   * where its bucket and all totals above it have a pace alone, without a warm-up.
   */
  readonly waitMsAtMost?: number
  /** Its place below each total above its bucket, the innermost first; absent where there is none, or it has its slot. */
  readonly totals?: readonly TotalPlace[]
  /** What the job waits for, the longest first; empty if nothing. */
  readonly holds: readonly Hold[]
  /**
   * The jobs that depart before it: their number, their cost units (estimated from the average beyond a thousand jobs),
   * and the first ten ids.
   */
  readonly ahead: { readonly jobs: number; readonly cost: number; readonly ids: readonly string[] }
  /** The rule that applies to its key; absent if none does. */
  readonly rule?: RuleView
  /** The whole explanation in one English sentence. */
  readonly summary: string
  /** The same without the times that count down, for a view that shows its own countdown. */
  readonly summaryWithoutTimes: string
}

/** The place of a job among those that share a total. */
export interface TotalPlace {
  /** How the keys of the family begin, and the limit of their sum. */
  readonly total: string
  readonly limit: string
  /** How many other children of the total have jobs that wait: buckets, and families with a total of their own. */
  readonly others: number
  /** The part of the limit that is for this one while those have jobs, by weight: above 0, at most 1. */
  readonly share: number
  /** With about which departure of the family the job goes; 1: the next. */
  readonly turn: number
}

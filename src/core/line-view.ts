import { SECOND } from './duration.ts'
import type { Costs } from './usage.ts'
import type { RejectReason } from './verdict.ts'

/** The line of a bucket. Times are milliseconds since the epoch. */
export interface LineView {
  readonly key: string
  /** Jobs that have not started, including those that wait for a retry. */
  readonly total: number
  /** The first of them, in the expected order of departure. */
  readonly jobs: readonly LineJob[]
}

/** A job that waits in a line, or was handed over and has not started. */
export interface LineJob {
  readonly id: string
  readonly cost: number
  /** What it counts in named units; absent where it names none. */
  readonly costs?: Costs
  readonly state: 'handed' | 'waiting' | 'retrying'
  readonly admittedAt: number
  /** Of a job whose attempt failed: the earliest time of the next. */
  readonly readyAt?: number
  /** It is a turn: a caller waits for it, and it needs no handler. */
  readonly isTurn?: true
}

/**
 * Counters since the line was created. They only grow, so two readings give a rate. A line in Redis keeps them as long
 * as its keys, a line in memory as long as its process.
 */
export interface Flow {
  /** When they were read, in milliseconds since the epoch. */
  readonly at: number
  /** Jobs and turns that were accepted. */
  readonly admitted: number
  /**
   * Jobs and turns that the line rejected, from all processes; a request that is repeated counts again. Rejections by a
   * local limit (`limits.setLocal`) are not included, since they never reach the line.
   */
  readonly rejected: number
  /**
   * Starts; each attempt counts. On Redis these are granted slots: each counts a moment before its start, and so do the
   * few that are given back.
   */
  readonly departed: number
  /** Jobs and turns that were completed, failed, cancelled or expired. */
  readonly ended: number
}

/** The totals that a chart of arrivals and departures needs. */
export type FlowTotals = Omit<Flow, 'ended'>

/** For so long after it was last asked for, what happens to a bucket is noted. Microseconds. */
export const WATCHED_FOR = 30 * SECOND
/** More buckets are not watched: the one that was asked for longest ago makes room. */
export const MOST_WATCHED = 100
/** Of verdicts, and of departures. */
export const MOST_NOTES = 50

/** The last admission verdicts and departures of a bucket, the newest first; at most 50 of each. */
export interface Recent {
  readonly verdicts: readonly RecentVerdict[]
  readonly departures: readonly RecentDeparture[]
}

export interface RecentVerdict {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Empty for a rejected job without an id; on Redis then the id that its process generated. */
  readonly id: string
  readonly accepted: boolean
  /** Why it was rejected. */
  readonly reason?: RejectReason
  /** Cost units that waited then, including its own if it was accepted. */
  readonly waiting: number
}

export interface RecentDeparture {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly id: string
  /** Milliseconds since the previous start, and that gap divided by the spacing required; absent if none is known. */
  readonly gapMs?: number
  readonly gapRatio?: number
}

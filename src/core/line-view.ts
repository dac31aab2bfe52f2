import type { RejectReason } from './verdict.ts'

/** The line of a bucket. Times are milliseconds since the epoch. */
export interface LineView {
  readonly key: string
  /** Everyone who has not started, those that wait to be tried again included. */
  readonly total: number
  /** The first of them, in the order in which they depart as far as is known. */
  readonly jobs: readonly LineJob[]
}

/** One who stands in a line, or was handed over from it and has not started. */
export interface LineJob {
  readonly id: string
  readonly cost: number
  readonly state: 'handed' | 'waiting' | 'retrying'
  readonly admittedAt: number
  /** Of one whose attempt failed: it does not depart before. */
  readonly readyAt?: number
  /** A caller who waits for his turn, and needs no handler. */
  readonly isTurn?: true
}

/**
 * How many there have been since the line began; the numbers only grow, so two looks tell a rate. A line in Redis keeps
 * them as long as its keys, one in memory as long as its process.
 */
export interface Flow {
  /** When it was looked, in milliseconds since the epoch. */
  readonly at: number
  /** Jobs and turns that were accepted. */
  readonly admitted: number
  /**
   * Jobs and turns that the line refused, whichever process asked; one that asks twice counts twice. Not in it: what a limit
   * of one process alone refused (`limits.setLocal`), which the line never saw.
   */
  readonly rejected: number
  /**
   * Starts, each attempt counts. On a shared line these are the slots that were granted: one counts a moment before its
   * start, and the few that were given back before it count as well.
   */
  readonly departed: number
  /** Jobs and turns that were completed, failed, cancelled or expired. */
  readonly ended: number
}

/** The totals that a chart of arrivals and departures needs. */
export type FlowTotals = Omit<Flow, 'ended'>

/** The last verdicts and departures of a bucket, the newest first; at most 50 of each. */
export interface Recent {
  readonly verdicts: readonly RecentVerdict[]
  readonly departures: readonly RecentDeparture[]
}

export interface RecentVerdict {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Of one that was turned away without an id: empty, or on a shared line the name that its process made up. */
  readonly id: string
  readonly accepted: boolean
  /** Why he was turned away. */
  readonly reason?: RejectReason
  /** Cost units that waited then, with his own if he was accepted. */
  readonly waiting: number
}

export interface RecentDeparture {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly id: string
  /** Since the start before it, and how much of the spacing that was due that is; absent where none is remembered. */
  readonly gapMs?: number
  readonly gapRatio?: number
}

import type { JobState } from './job.ts'
import type { RuleView } from './rule-view.ts'

/** Why a job is not running, or what became of it. Times are milliseconds since the epoch. */
export interface JobExplanation {
  readonly id: string
  readonly key: string
  readonly state: JobState
  /** 1 departs next; only while it waits. */
  readonly position?: number
  /** When it departs, as far as is known; absent where nobody knows: the bucket is paused, or no handler is free. */
  readonly departsAt?: number
  /** What must pass before it departs, the one that lasts longest first; empty: nothing. */
  readonly holds: readonly Hold[]
  /** Those who depart before it: how many, their cost units (beyond a thousand reckoned by the average), the first ten. */
  readonly ahead: { readonly jobs: number; readonly cost: number; readonly ids: readonly string[] }
  /** The rule that governs its key; absent when none does. */
  readonly rule?: RuleView
  /** All of it in one English sentence. */
  readonly summary: string
  /** The same without the times that run down, for a view that counts them itself. */
  readonly summaryWithoutTimes: string
}

/**
 * - line: others depart before it
 * - slot: the departure before it keeps it away
 * - frozen, paused: the bucket is
 * - backoff: its attempt failed, and the next may not begin yet
 * - handed: it was released, and waits at a worker, or on the way there
 * - busy: it could go, but no handler is free for its key
 * - no-worker: nobody is there who takes jobs; on a shared line, nobody of whom there is a trace
 * - no-rule: nothing governs its key any more; it departs by the limit that its bucket had
 */
export const HOLD_REASONS = [
  'line',
  'slot',
  'frozen',
  'paused',
  'no-worker',
  'busy',
  'backoff',
  'handed',
  'no-rule',
] as const

export type HoldReason = (typeof HOLD_REASONS)[number]

/** One thing that a job waits for. */
export interface Hold {
  readonly reason: HoldReason
  /** Milliseconds since the epoch; absent where nobody knows. */
  readonly until?: number
  readonly detail: string
}

import type { Backoff } from './backoff.ts'
import { MILLISECOND } from './duration.ts'
import type { Hold } from './hold.ts'
import type { Costs } from './usage.ts'
import type { RejectReason } from './verdict.ts'

/**
 * The states of a job.
 *
 * | state     | meaning                                           | left for                            |
 * |-----------|---------------------------------------------------|-------------------------------------|
 * | waiting   | in its bucket's line                              | handed, cancelled, expired          |
 * | handed    | released from the line, its handler not started   | running, waiting                    |
 * | running   | its handler was started                           | completed, failed, retrying         |
 * | retrying  | was started before, waits for a retry             | handed, cancelled, expired          |
 * | completed | the handler resolved                              | -                                   |
 * | failed    | the last attempt failed                           | -                                   |
 * | cancelled | removed while it waited                           | -                                   |
 * | expired   | reached its deadline while it waited              | -                                   |
 */
export const JOB_STATES = [
  'waiting',
  'handed',
  'running',
  'retrying',
  'completed',
  'failed',
  'cancelled',
  'expired',
] as const

export type JobState = (typeof JOB_STATES)[number]

export const JOB_ID = /^[A-Za-z0-9_-]{1,128}$/
/** Ids of turns hold a `~`. */
export const JOB_OR_TURN_ID = /^[A-Za-z0-9_~-]{1,128}$/

export type EndState = 'completed' | 'failed' | 'cancelled' | 'expired'

const SUCCESSORS: Readonly<Record<JobState, readonly JobState[]>> = {
  waiting: ['handed', 'cancelled', 'expired'],
  handed: ['running', 'waiting'],
  running: ['completed', 'failed', 'retrying'],
  retrying: ['handed', 'cancelled', 'expired'],
  completed: [],
  failed: [],
  cancelled: [],
  expired: [],
}

/** Whether a job may change from one state to the other. */
export function mayBecome(from: JobState, to: JobState): boolean {
  return SUCCESSORS[from].includes(to)
}

/** Whether the job has ended, in whichever way. */
export function isEnded(state: JobState): state is EndState {
  return SUCCESSORS[state].length === 0
}

/** How a job is run. Many jobs share one object. */
export interface JobSettings {
  /** How many attempts a job has before it fails; at least 1. */
  readonly attempts: number
  readonly backoff: Backoff
  /** The time limit of an attempt, in milliseconds; then the attempt fails. */
  readonly timeoutMs: number
}

/** The result of `enqueue`. Times are milliseconds; `departsAt` is since the epoch. */
export type Admission = Accepted | Rejected

export interface Accepted {
  readonly accepted: true
  /** Empty in a forecast, which admits nothing. */
  readonly id: string
  readonly key: string
  /** Position in the line; 1 departs next. */
  readonly position: number
  /** The expected start: an estimate that assumes free handlers, and that no job before it is cancelled or retried. */
  readonly departsAt: number
  /** Milliseconds until `departsAt`. */
  readonly waitMs: number
  /**
   * Cost units that wait, including those of this job and of retries, and the maximum. Both are current, even in a
   * replayed result. `capacity` is 0 if no limit applies to the key any more.
   */
  readonly waiting: number
  readonly capacity: number
  /**
   * The times are estimates. They may turn out later, where the line is longer than a verdict looks at, or retries or free places decide;
   * and earlier, where a quota of a unit counts starts that may still be settled for less.
   */
  readonly isEstimate?: true
  /**
   * Only in a forecast, and only under a limit with more than a pace or below a total, in the words of an explanation: a pause, the places, the
   * last quota that would hold the job or one ahead of it, also where the pace holds it longer, or else what would let it go last. Absent
   * where it would go now.
   */
  readonly heldBy?: Hold
  /** The id was used before: this is the result of that time, and nothing was admitted now. */
  readonly replayed?: true
  /**
   * Units of the request's `costs` that no quota of the key's limit counts now: a typing error, or a limit that is to change. They
   * count once a limit counts them. Absent where all count. Events do not have it.
   */
  readonly uncounted?: readonly string[]
}

export interface Rejected {
  readonly accepted: false
  /**
   * `full`: no room in the line. `deadline`: the job would certainly depart too late. `paused`: the bucket is paused, and is full
   * or cannot promise a deadline. `too-costly`: the cost exceeds the capacity, or what the job counts a whole quota, so
   * the job can never fit.
   */
  readonly reason: RejectReason
  readonly key: string
  /**
   * After this many milliseconds the same request is accepted, if no other came in. Infinity if it is too costly; the
   * field is then left out of all JSON that this package writes, since JSON has no Infinity. An estimate while the
   * bucket is paused or no handler is free.
   */
  readonly retryAfterMs: number
  /** Cost units that wait, including those of retries, and the maximum. */
  readonly waiting: number
  readonly capacity: number
  /** The time is an estimate: it may turn out later or earlier, as that of an acceptance. */
  readonly isEstimate?: true
  /** The quota that the job alone exceeds, as text such as `90000 tokens/minute`; only if it is too costly for one. */
  readonly quota?: string
  /**
   * The total that rejected it, such as `stripe/`: the limit of the sum of that family, not that of the key. `waiting` and `capacity` are
   * those of the total.
   */
  readonly at?: string
  /**
   * A local limit (`limits.setLocal`) rejected it, and the line was not asked: `waiting` and `capacity` are those of
   * the local limit, `waiting` rounded up. Once the local limit has room, the line decides.
   */
  readonly local?: true
}

/** The largest error of a difference between two times in microseconds since the epoch. */
const ROUNDING_MS = 0.0005

/**
 * Returns the `retryAfterMs` of a rejection for a wait in microseconds: whole milliseconds, at least 1. Rounded up,
 * because timers count in milliseconds and must not fire early.
 */
export function retryAfterMs(wait: number): number {
  return Math.max(1, Math.ceil(wait / MILLISECOND - ROUNDING_MS))
}

/** A rejection as JSON can represent it: without `retryAfterMs` if that is Infinity. */
export function jsonRefusal<Refusal extends { readonly retryAfterMs: number }>(
  refusal: Refusal,
): Omit<Refusal, 'retryAfterMs'> & { readonly retryAfterMs?: number } {
  if (Number.isFinite(refusal.retryAfterMs)) return refusal
  const { retryAfterMs, ...rest } = refusal
  return rest
}

/**
 * The result of `tryAcquire` without a turn. `not-now`: other jobs are before it, or the bucket has no departure until
 * `retryAfterMs` have passed. Otherwise as in `Rejected`, with `full` only from a local limit.
 */
export type TurnRefusal = Omit<Rejected, 'reason'> & {
  readonly reason: Exclude<RejectReason, 'deadline'> | 'not-now'
}

/** A job. Times are milliseconds since the epoch. */
export interface JobView {
  readonly id: string
  readonly key: string
  readonly state: JobState
  readonly cost: number
  /** What it counts in named units; absent where it names none. */
  readonly costs?: Costs
  readonly data: unknown
  /** Attempts used so far, including a running one. */
  readonly attempt: number
  /** The most that it may have. */
  readonly attempts: number
  readonly admittedAt: number
  /** Position in the line, only while it waits; 1 departs next. */
  readonly position?: number
  /** The latest time at which it may depart; absent without a deadline. */
  readonly deadlineAt?: number
  /** When its handler last started. */
  readonly departedAt?: number
  readonly endedAt?: number
  /** The value that the handler resolved to, as JSON represents it. */
  readonly result?: unknown
  /** The message of the last error. */
  readonly error?: string
}

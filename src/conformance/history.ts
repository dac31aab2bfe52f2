import type { Limit } from '../core/limit.ts'
import type { RejectReason } from '../core/verdict.ts'

/**
 * What was seen from outside, in the order in which it happened; `at` is microseconds on one clock. The checker
 * judges nothing but this, so that the same laws can be held against a unit test, a benchmark, a file of departures
 * or the joint record of many processes.
 */
export type HistoryEvent =
  | LimitEvent
  | AnswerEvent
  | StartEvent
  | ReturnEvent
  | EndEvent
  | FreezeEvent
  | UnfreezeEvent
  | PauseEvent
  | FaultEvent
  | CrashEvent
  | AuditEvent

/** From here on `limit` governs the key. The first event of a key must be one of these. */
export interface LimitEvent {
  readonly type: 'limit'
  readonly at: number
  readonly key: string
  readonly limit: Limit
}

/** The verdict that a producer was given. `seq` numbers the admissions of a bucket where `at` may be equal. */
export type AnswerEvent = {
  readonly type: 'answer'
  readonly at: number
  readonly id: string
  readonly key: string
  readonly cost: number
} & (
  | { readonly accepted: true; readonly seq?: number; readonly departsAt: number }
  | { readonly accepted: false; readonly reason: RejectReason; readonly retryAt: number }
)

/**
 * A handler started. `at`: when its line counts it as started. `attempt`: 1 is the first; a job that a freeze gave back
 * starts the same attempt again. `readAt`: what a clock said that the handler read as its first statement; it may be another
 * clock than that of `at`, but it must be one for all starts of a key. The spacing of starts is judged by it, where it is told.
 */
export interface StartEvent {
  readonly type: 'start'
  readonly at: number
  readonly id: string
  readonly key: string
  readonly cost: number
  readonly attempt: number
  readonly readAt?: number
}

/** A handler ended without ending its job, which waits again and may depart from `readyAt` on. */
export interface ReturnEvent {
  readonly type: 'return'
  readonly at: number
  readonly id: string
  readonly reason: 'retry' | 'freeze'
  readonly readyAt: number
}

/** The one end state of a job. */
export interface EndEvent {
  readonly type: 'end'
  readonly at: number
  readonly id: string
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'expired'
}

/** No departures of the key before `until`. */
export interface FreezeEvent {
  readonly type: 'freeze'
  readonly at: number
  readonly key: string
  readonly until: number
}

/** From here on the freezes of the key that began before are over. */
export interface UnfreezeEvent {
  readonly type: 'unfreeze'
  readonly at: number
  readonly key: string
}

/** No departures of the key from a `pause` to the next `resume`. */
export interface PauseEvent {
  readonly type: 'pause' | 'resume'
  readonly at: number
  readonly key: string
}

/** A worker crashed, or stood still for longer than its lease, while it ran the job `id`: one more start is due. */
export interface FaultEvent {
  readonly type: 'fault'
  readonly at: number
  readonly id: string
}

/**
 * A process died, or stood still for longer than its leases. Which jobs it held that had not started is not known
 * from outside: of each key at most the first `handed` in line. They keep their one start, and lose their place.
 */
export interface CrashEvent {
  readonly type: 'crash'
  readonly at: number
  readonly handed: number
}

/** A recount of the jobs by state, at one moment. */
export interface AuditEvent extends Audit {
  readonly type: 'audit'
  readonly at: number
}

/** Jobs by state: `admitted = waiting + handed + running + retrying + ended`, at any moment. */
export interface Audit {
  readonly admitted: number
  readonly waiting: number
  readonly handed: number
  readonly running: number
  readonly retrying: number
  readonly ended: number
}

export type Law = 'L1' | 'L2' | 'L3' | 'L4' | 'L5' | 'L9'

/** One breach of one law, with the numbers that show it. */
export interface Breach {
  readonly law: Law
  readonly at: number
  readonly key?: string
  readonly id?: string
  /** A whole sentence with the numbers in it. */
  readonly message: string
}

export interface CheckOptions {
  /**
   * Microseconds that news takes from one process to the others; 0 where one process does everything. The store
   * hears of a start or a return up to that much later, and a worker that was promised a slot hears of a freeze or
   * a pause up to that much later.
   */
  readonly lag?: number
  /** Microseconds for which a limit that was replaced may still be used; 0 where one process does everything. */
  readonly settle?: number
  /** Handlers that may run at once, if bounded: while all are taken, L3 asks for nothing. */
  readonly concurrency?: number
  /** The share of the configured rate that a busy bucket must reach (L3); absent: L3 is not checked. */
  readonly minUtilisation?: number
  /** Departures in a row from which on L3 is judged; fewer show the jitter of their ends. Default: 20. */
  readonly shortestStretch?: number
  /** The history goes on after its last event: jobs without an end are not lost yet. */
  readonly unfinished?: boolean
  /** The history begins in the middle: how warm a bucket was before its first start is not known. */
  readonly midway?: boolean
}

import type { Limit } from '../core/limit.ts'
import type { Costs } from '../core/usage.ts'
import type { RejectReason } from '../core/verdict.ts'

/**
 * What an observer saw, in the order in which it happened; `at` is microseconds on one clock. The checker uses nothing
 * else, so the same laws can be checked on a unit test, a benchmark, a file of departures or the merged records of many
 * processes.
 */
export type HistoryEvent =
  | LimitEvent
  | UnsetEvent
  | AnswerEvent
  | PromiseEvent
  | StartEvent
  | SettleEvent
  | ReturnEvent
  | EndEvent
  | ReleaseEvent
  | FreezeEvent
  | UnfreezeEvent
  | PauseEvent
  | FaultEvent
  | CrashEvent
  | AuditEvent

/**
 * `limit` applies to the key from here on. The first event of a key must be one of these. A key that ends in `/` names a total: the
 * limit of the sum of the key before the slash and of all below it. Freezes and pauses of such a key are those of its family.
 */
export interface LimitEvent {
  readonly type: 'limit'
  readonly at: number
  readonly key: string
  readonly limit: Limit
}

/**
 * The total is gone: the sum of its family has no limit any more, until it gets one again. Of a total alone: a key without a rule keeps
 * its limit while jobs of it wait.
 */
export interface UnsetEvent {
  readonly type: 'unset'
  readonly at: number
  readonly key: string
}

/**
 * The verdict that a producer received. `seq` numbers the admissions of a bucket, because `at` may be equal. `costs`: what the job
 * counts in quotas with a unit, before it is settled. `isEstimate`: the time in it is not exact.
 */
export type AnswerEvent = {
  readonly type: 'answer'
  readonly at: number
  readonly id: string
  readonly key: string
  readonly cost: number
  readonly costs?: Costs
  readonly isEstimate?: boolean
} & (
  | { readonly accepted: true; readonly seq?: number; readonly departsAt: number }
  | { readonly accepted: false; readonly reason: RejectReason; readonly retryAt: number }
)

/** A job that waits was promised to start at `startsBy` or before: `waitMsAtMost` of its explanation, counted from when that came. */
export interface PromiseEvent {
  readonly type: 'promise'
  readonly at: number
  readonly id: string
  readonly key: string
  readonly startsBy: number
}

/**
 * A handler started. `at`: the start as its line counts it. `attempt`: the first is 1; a job returned by a freeze
 * starts the same attempt again. `readAt`: the time that the handler read from a clock as its first statement; it may
 * be another clock than that of `at`, but must be the same for all starts of a key. If present, the spacing of starts
 * and rolling quotas are judged by it. `costs`: if absent, those of the answer. `fence`: the one that the handler got. `isHeld`:
 * of a turn, true where it holds a place until it is released, also after its end; false where it holds none, and may be settled after
 * its end as well.
 */
export interface StartEvent {
  readonly type: 'start'
  readonly at: number
  readonly id: string
  readonly key: string
  readonly cost: number
  readonly attempt: number
  readonly readAt?: number
  readonly costs?: Costs
  readonly fence?: number
  readonly isHeld?: boolean
}

/**
 * What an attempt really used was accepted: from now on its start counts these amounts. `at`: when it was said, before the store
 * can know of it. `fence`: that of the attempt; without one, the last start of the job is meant. A settling that was refused is no
 * event.
 */
export interface SettleEvent {
  readonly type: 'settle'
  readonly at: number
  readonly id: string
  readonly key: string
  /** By unit; whole numbers from 0. */
  readonly amounts: Costs
  readonly fence?: number
}

/** A turn gave its place back, or held it for as long as it may. */
export interface ReleaseEvent {
  readonly type: 'release'
  readonly at: number
  readonly id: string
  readonly key: string
}

/** A handler ended but its job did not: it waits again and may depart from `readyAt` on. */
export interface ReturnEvent {
  readonly type: 'return'
  readonly at: number
  readonly id: string
  readonly reason: 'retry' | 'freeze'
  readonly readyAt: number
}

/** A job reached its end state. */
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

/** The freezes of the key that began before are over. */
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

/**
 * A worker crashed, or stalled for longer than its lease, while it ran the job `id`: one more start is allowed. The job holds its
 * place among those that run at once until `leaseUntil`, the earliest time at which its lease can have ended; without that time
 * the lease has ended, or may have.
 */
export interface FaultEvent {
  readonly type: 'fault'
  readonly at: number
  readonly id: string
  readonly leaseUntil?: number
}

/**
 * A process died, or stalled for longer than its leases. An observer does not know which jobs it held that had not
 * started: of each key at most the first `handed` in line. They keep their one start and lose their place.
 */
export interface CrashEvent {
  readonly type: 'crash'
  readonly at: number
  readonly handed: number
}

/** A count of the jobs by state, at one moment. */
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

export type Law = 'L1' | 'L2' | 'L3' | 'L4' | 'L5' | 'L9' | 'L10' | 'L11' | 'L12' | 'L13'

/** One breach of one law, with the numbers that show it. */
export interface Breach {
  readonly law: Law
  /** Microseconds. */
  readonly at: number
  readonly key?: string
  readonly id?: string
  /** A full sentence with the numbers. */
  readonly message: string
}

export interface CheckOptions {
  /**
   * Microseconds until the other processes know of an event; 0 if there is one process. The store learns of a start or
   * a return up to that much later, and so does a worker with a reserved slot of a freeze or a pause. Default: 0.
   */
  readonly lag?: number
  /** Microseconds for which a replaced limit may still be used; 0 if there is one process. Default: 0. */
  readonly settle?: number
  /** Handlers that may run at once: while all are busy, L3 and L13 require nothing. Default: unlimited. */
  readonly concurrency?: number
  /** The share of the configured rate that a busy bucket must reach, 0 to 1 (L3). Default: L3 is not checked. */
  readonly minUtilisation?: number
  /** The fewest departures in a row for which L3 is judged; over fewer, jitter decides. Default: 20. */
  readonly shortestStretch?: number
  /**
   * Of a total, so much of its time may have been handed over to workers and not have started, in microseconds: of two children one may
   * have got all of it (L12). 0 if a start is decided as it happens. Default: 0.
   */
  readonly handed?: number
  /** The history continues after its last event: jobs without an end are not lost. Default: false. */
  readonly unfinished?: boolean
  /** The history begins in the middle: the warmth of a bucket before its first start is unknown. Default: false. */
  readonly midway?: boolean
}

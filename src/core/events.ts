import type { Durability } from './bucket-view.ts'
import type { Accepted, Rejected } from './job.ts'
import type { Limit } from './limit.ts'
import type { BaseOrigin } from './rule-view.ts'
import type { Costs } from './usage.ts'

/** The job that an event is about. Times are milliseconds since the epoch. */
export interface JobEvent {
  readonly id: string
  readonly key: string
  readonly cost: number
  /** The attempt that the event is about: the first is 1; 0 if none has started. */
  readonly attempt: number
  readonly at: number
}

/** The events of a shaper and the arguments of their listeners. */
export interface ShaperEvents<Result = unknown> {
  /** A job was accepted. */
  admitted: [Accepted & { readonly at: number; readonly cost: number; readonly costs?: Costs }]
  /** A job was rejected; `retryAfterMs` says when to try again. */
  rejected: [
    Omit<Rejected, 'at'> & {
      readonly at: number
      readonly cost: number
      readonly costs?: Costs
      readonly id?: string
      /** The total that rejected it, such as `stripe/`; absent if it was the limit of the key. */
      readonly total?: string
    },
  ]
  /**
   * A handler has started, or the caller of a turn continues in the same tick. For a handler `at` is the latest time at
   * which it can have begun; the next departure is spaced from it. For a turn `at` is `job.departedAt`, read from the
   * clock just before. `isHeld`: of a turn under a limit with more than a pace, whether it holds a place, also after it has completed;
   * one without a place may still be settled then.
   */
  departed: [
    JobEvent & {
      readonly waitedMs: number
      readonly costs?: Costs
      readonly fence: number
      readonly isHeld?: boolean
    },
  ]
  /** A start was settled: it counts these amounts from now on. `fence`: that of the start. */
  settled: [JobEvent & { readonly amounts: Costs; readonly fence: number }]
  /** A handler resolved, or a turn was granted, which has no result (undefined). */
  completed: [JobEvent & { readonly result: Result }]
  /** An attempt failed. With `retryAt` the job waits for a retry; without it the job has ended. */
  failed: [JobEvent & { readonly error: Error; readonly retryAt?: number }]
  /**
   * A handler threw a FreezeError, or was interrupted when its process shut down: the job waits again, and the attempt
   * does not count.
   */
  returned: [JobEvent & { readonly retryAt: number }]
  /**
   * The worker of the job died or stalled for longer than its lease, or Redis restarted before the job had a slot: the job
   * returns to its line, and so does what was handed over after it.
   */
  recovered: [JobEvent & { readonly mayHaveStarted: boolean }]
  /** A job reached its deadline while it waited. */
  expired: [JobEvent]
  /** A turn gave its place back. */
  released: [JobEvent]
  /** A turn held its place for as long as it may (`holdMs`), and lost it. Its caller may still work. */
  holdExpired: [JobEvent]
  /** A waiting job was cancelled, or was still waiting when its shaper closed. */
  cancelled: [JobEvent]
  /**
   * The bucket has no departures until `until`. `askedMs`: the freeze that was asked for, if it exceeded the maximum.
   */
  frozen: [{ readonly key: string; readonly at: number; readonly until: number; readonly askedMs?: number }]
  /** A freeze was lifted early. */
  unfrozen: [{ readonly key: string; readonly at: number }]
  paused: [{ readonly key: string; readonly at: number }]
  resumed: [{ readonly key: string; readonly at: number }]
  /** A limit was set; `limit` is undefined if the pattern was unset. */
  limit: [{ readonly pattern: string; readonly at: number; readonly limit: Limit | undefined }]
  /**
   * On Redis: this process started with different limits than those in force and replaced them; emitted once per layer.
   * `by` set the former ones, at the time `since`. A limit without `before` is new, one without `after` is gone.
   */
  limitsReplaced: [
    {
      readonly at: number
      readonly origin: BaseOrigin
      readonly by?: string
      readonly since?: number
      readonly limits: readonly {
        readonly pattern: string
        readonly before?: string
        readonly after?: string
      }[]
    },
  ]
  /** A local limit (of this process only) was set; `limit` is undefined if it was unset. */
  localLimit: [
    {
      readonly pattern: string
      readonly at: number
      readonly limit: Limit | undefined
      readonly by?: string
    },
  ]
  /** The Redis server of the line is connected and suitable; `version` is its version. */
  connected: [{ readonly durability: Durability; readonly version: string; readonly at: number }]
  /** An error that no promise can report: a listener threw, or a result was not JSON. */
  error: [Error]
}

/** The names of the events, as a record so that the compiler checks that none is missing. */
const NAMES: Readonly<Record<keyof ShaperEvents, true>> = {
  admitted: true,
  rejected: true,
  departed: true,
  settled: true,
  completed: true,
  failed: true,
  returned: true,
  recovered: true,
  expired: true,
  released: true,
  holdExpired: true,
  cancelled: true,
  frozen: true,
  unfrozen: true,
  paused: true,
  resumed: true,
  limit: true,
  limitsReplaced: true,
  localLimit: true,
  connected: true,
  error: true,
}

export const SHAPER_EVENTS = Object.freeze(Object.keys(NAMES))

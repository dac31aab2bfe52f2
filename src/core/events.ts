import type { Accepted, Durability, Rejected } from './job.ts'
import type { Limit } from './limit.ts'
import type { BaseOrigin } from './rule-view.ts'

/** What a job tells of itself in an event. Times are milliseconds since the epoch. */
export interface JobEvent {
  readonly id: string
  readonly key: string
  readonly cost: number
  /** The attempt that this is about; 1 is the first, 0 when none was started. */
  readonly attempt: number
  readonly at: number
}

/** The events of a shaper, each with what its listeners are given. */
export interface ShaperEvents<Result = unknown> {
  /** A job was accepted into the line. */
  admitted: [Accepted & { readonly at: number; readonly cost: number }]
  /** A job was turned away at the rope; it was told when to come back. */
  rejected: [Rejected & { readonly at: number; readonly cost: number; readonly id?: string }]
  /**
   * A handler has started, or a caller is about to go on in the same tick. `at` of a handler: the latest time at which it can
   * have begun, from which the next departure keeps away; `job.departedAt`, and `at` of a caller, is the look at the clock
   * just before.
   */
  departed: [JobEvent & { readonly waitedMs: number }]
  /** A handler resolved; or a caller's turn came, which has no result: undefined. */
  completed: [JobEvent & { readonly result: Result }]
  /** An attempt failed. With `retryAt` the job waits again; without, it ended. */
  failed: [JobEvent & { readonly error: Error; readonly retryAt?: number }]
  /** A handler threw a FreezeError, or was cut off when its process went down: the job waits again, its attempt is given back. */
  returned: [JobEvent & { readonly retryAt: number }]
  /** The worker that held the job died or stood still for longer than its lease: the job goes back to its line. */
  recovered: [JobEvent & { readonly mayHaveStarted: boolean }]
  /** A job's deadline came while it waited. */
  expired: [JobEvent]
  /** A waiting job was taken out, or was still waiting when its shaper was closed. */
  cancelled: [JobEvent]
  /** No departures of the bucket until `until`; `askedMs` where a longer freeze was asked for than is allowed. */
  frozen: [{ readonly key: string; readonly at: number; readonly until: number; readonly askedMs?: number }]
  /** A freeze was lifted before its end. */
  unfrozen: [{ readonly key: string; readonly at: number }]
  paused: [{ readonly key: string; readonly at: number }]
  resumed: [{ readonly key: string; readonly at: number }]
  /** The rule book changed; `limit` is undefined when the pattern was unset. */
  limit: [{ readonly pattern: string; readonly at: number; readonly limit: Limit | undefined }]
  /**
   * On a shared line: this process started with other limits than those in force, which its own have replaced; told for each
   * layer. `by` brought the former ones, at the time `since`; a limit without `before` is new, one without `after` is gone.
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
  /** A limit of this process alone was set, or unset: then `limit` is undefined. */
  localLimit: [
    {
      readonly pattern: string
      readonly at: number
      readonly limit: Limit | undefined
      readonly by?: string
    },
  ]
  /** The store of a shared line answers, and is fit; `version` is that of Redis. */
  connected: [{ readonly durability: Durability; readonly version: string; readonly at: number }]
  /** Something went wrong that no promise could tell: a listener threw, a result was not JSON. */
  error: [Error]
}

/** The names of the events, as a table so that the compiler misses none. */
const NAMES: Readonly<Record<keyof ShaperEvents, true>> = {
  admitted: true,
  rejected: true,
  departed: true,
  completed: true,
  failed: true,
  returned: true,
  recovered: true,
  expired: true,
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

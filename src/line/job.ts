import type { JobSettings } from '../core/job.ts'
import type { Costs } from '../core/usage.ts'

/**
 * A request whose parts were checked; `data` is JSON text. `deadline` is in microseconds: a duration in the verbs of an
 * engine, an instant in those of a store.
 */
export interface JobRequest {
  readonly id: string | undefined
  readonly key: string
  readonly data: string
  readonly cost: number
  /** What it counts in named units, sorted by name; undefined where it names none. */
  readonly costs?: Costs | undefined
  readonly deadline: number
  readonly settings: JobSettings
  /** The requesting span in W3C Trace Context; two requests are the same whatever it is. */
  readonly traceparent?: string | undefined
  /** A caller waits for this turn and needs no handler: there is nothing to do but to depart. */
  readonly isTurn?: true
  /** How long a turn may hold its place once it has departed, in microseconds. */
  readonly holdFor?: number | undefined
}

/** A job as a worker gets it. Times are microseconds. */
export interface WorkerJob {
  readonly id: string
  readonly key: string
  readonly data: string
  readonly cost: number
  /** As in its request. */
  readonly costs?: Costs | undefined
  readonly settings: JobSettings
  /** 1 while the first attempt runs; 0 before. */
  readonly attempt: number
  /** Grows with every start of a key: a receiver may refuse one smaller than it has seen of that key. */
  readonly fence: number
  /** How many starts were cut off: the worker died, or was stalled for longer than its lease. */
  readonly crashes: number
  readonly admittedAt: number
  /** As in its request. */
  readonly traceparent?: string | undefined
  readonly isTurn?: true
}

/** What a departure is measured against. Microseconds. */
export interface Pace {
  /** The pattern of the rule that governs the bucket. */
  readonly pattern: string
  /** When the previous handler of the bucket started; -Infinity when none is remembered. */
  readonly lastStart: number
  /** The interval times the cost of the previous job; longer while the bucket warms up. */
  readonly spacing: number
}

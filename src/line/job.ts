import type { JobSettings } from '../core/job.ts'

/** A request whose parts were checked; `data` is JSON text. `deadline` is microseconds: an instant in the verbs above. */
export interface JobRequest {
  readonly id: string | undefined
  readonly key: string
  readonly data: string
  readonly cost: number
  readonly deadline: number
  readonly settings: JobSettings
  /** The span that asked, as W3C Trace Context writes it; not part of what makes two requests the same. */
  readonly traceparent?: string | undefined
  /** There is nothing to do but to depart: a caller waits for his turn, and needs no handler. */
  readonly isTurn?: true
}

/** A job as a worker gets it. Times are microseconds. */
export interface BackendJob {
  readonly id: string
  readonly key: string
  readonly data: string
  readonly cost: number
  readonly settings: JobSettings
  /** 1 while the first attempt runs; 0 before. */
  readonly attempt: number
  /** Grows with every start of a key: a receiver may refuse one smaller than it has seen of that key. */
  readonly fence: number
  /** How often a start of it was cut off: its worker died, or stood still for longer than its lease. */
  readonly crashes: number
  readonly admittedAt: number
  /** As its request had them. */
  readonly traceparent?: string | undefined
  readonly isTurn?: true
}

/** What a departure is held against. Microseconds. */
export interface Pace {
  /** Of the rule that governs the bucket. */
  readonly pattern: string
  /** When the handler before it in the bucket started; -Infinity when none is remembered. */
  readonly lastStart: number
  /** The interval times the cost of that one; longer while the bucket warms up. */
  readonly spacing: number
}

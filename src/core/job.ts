import type { Backoff } from './backoff.ts'
import { MILLISECOND } from './duration.ts'
import type { RejectReason } from './verdict.ts'

/**
 * The states of a job.
 *
 * | state     | meaning                                          | left for                            |
 * |-----------|--------------------------------------------------|-------------------------------------|
 * | waiting   | stands in its bucket's line                      | handed, cancelled, expired          |
 * | handed    | released from the line, its handler not started  | running, waiting                    |
 * | running   | its handler was started                          | completed, failed, retrying         |
 * | retrying  | started before, waits to be tried again          | handed, cancelled, expired          |
 * | completed | the handler resolved                             | -                                   |
 * | failed    | the last attempt failed                          | -                                   |
 * | cancelled | taken out while it waited                        | -                                   |
 * | expired   | its deadline came while it waited                | -                                   |
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

/** Whether a job may go from one state to another. */
export function mayBecome(from: JobState, to: JobState): boolean {
  return SUCCESSORS[from].includes(to)
}

/** Whether the job is done, whatever its fate. */
export function isEnded(state: JobState): state is EndState {
  return SUCCESSORS[state].length === 0
}

/** How a job is run; the same for many jobs, so they share one. */
export interface JobSettings {
  /** How often the handler may be started before the job fails; at least 1. */
  readonly attempts: number
  readonly backoff: Backoff
  /** How long a handler may take before its attempt counts as failed, in milliseconds. */
  readonly timeoutMs: number
}

/** The verdict at the rope as a producer sees it. Times are milliseconds; `departsAt` since the epoch. */
export type Admission = Accepted | Rejected

export interface Accepted {
  readonly accepted: true
  readonly id: string
  readonly key: string
  /** 1 departs next. */
  readonly position: number
  /** When the handler starts, if handlers are free and nobody before it leaves the line or is tried again. */
  readonly departsAt: number
  readonly waitMs: number
  /**
   * Cost units that wait, this job's and those to be tried again included, and that may wait. Both as they are now,
   * also in an answer that was given before; a bucket whose key no rule governs any more may hold 0.
   */
  readonly waiting: number
  readonly capacity: number
  /** The same id had come before: this is the answer that was given then, and nothing was admitted now. */
  readonly replayed?: true
}

export interface Rejected {
  readonly accepted: false
  /**
   * `full`: no room in the line. `deadline`: it would depart too late. `paused`: the bucket is paused, and full or
   * unable to promise a deadline. `too-costly`: it costs more than the capacity and can never fit.
   */
  readonly reason: RejectReason
  readonly key: string
  /**
   * After this long the same request is accepted, if nobody else came in. Infinity when too costly, and then left out of
   * all JSON that this package writes, since JSON has no Infinity; a guess when paused, or while no handler is free.
   */
  readonly retryAfterMs: number
  /** Cost units that wait, those to be tried again included, and that may wait. */
  readonly waiting: number
  readonly capacity: number
  /**
   * A limit of this process alone refused it (`limits.setLocal`), and the line was not asked: `waiting` and `capacity`
   * are of that limit, what is in its meter rounded up; and when it has room the line has its say.
   */
  readonly local?: true
}

/** The most that rounding adds to a wait between two instants in microseconds since the epoch. */
const ROUNDING_MS = 0.0005

/**
 * The `retryAfterMs` of a refusal, for a wait in microseconds: whole milliseconds, at least 1. Rounded up, because timers
 * count in milliseconds and must not fire early.
 */
export function retryAfterMs(wait: number): number {
  return Math.max(1, Math.ceil(wait / MILLISECOND - ROUNDING_MS))
}

/** A refusal as JSON can hold it: without `retryAfterMs` where that is Infinity. */
export function jsonRefusal<Refusal extends { readonly retryAfterMs: number }>(
  refusal: Refusal,
): Omit<Refusal, 'retryAfterMs'> & { readonly retryAfterMs?: number } {
  if (Number.isFinite(refusal.retryAfterMs)) return refusal
  const { retryAfterMs, ...rest } = refusal
  return rest
}

/**
 * What `tryAcquire` answers when there is no turn: `not-now`, others are before it, or the bucket rests until
 * `retryAfterMs`; else as in `Rejected`, with `full` only where a limit of this process alone refused.
 */
export type TurnRefusal = Omit<Rejected, 'reason'> & {
  readonly reason: Exclude<RejectReason, 'deadline'> | 'not-now'
}

/** What is known of a job. Times are milliseconds since the epoch. */
export interface JobView {
  readonly id: string
  readonly key: string
  readonly state: JobState
  readonly cost: number
  readonly data: unknown
  /** Attempts that were used up or are running. */
  readonly attempt: number
  readonly attempts: number
  readonly admittedAt: number
  /** 1 departs next; only while it waits. */
  readonly position?: number
  /** The latest time at which it may depart, if it has one. */
  readonly deadlineAt?: number
  /** When its handler last started. */
  readonly departedAt?: number
  readonly endedAt?: number
  /** What the handler resolved to, as JSON keeps it. */
  readonly result?: unknown
  /** The message of the last error. */
  readonly error?: string
}

/** What is known of a live bucket. Times are milliseconds since the epoch. */
export interface BucketView {
  readonly key: string
  /** The pattern of the rule that governs it, and its limit as text. */
  readonly pattern: string
  readonly limit: string
  /** `paused`, `frozen`, `full` (not one cost unit fits), `waiting`, or `idle` (empty, its `next` not yet past). */
  readonly state: BucketState
  /**
   * Cost units that wait, in the line or to be tried again: what a new job finds taken of `capacity`, as in the answers of
   * `enqueue`. May exceed it: retries are never refused.
   */
  readonly waiting: number
  readonly capacity: number
  /** `waiting / capacity`. */
  readonly fill: number
  /** Jobs in the line, jobs that wait to be tried again, and handlers that run. */
  readonly jobs: number
  readonly retrying: number
  readonly running: number
  /** When the next job departs; absent when none waits, or when paused. */
  readonly nextDepartureAt?: number
  /** How long the one who has waited longest has waited, 0 when none waits; and since when. */
  readonly oldestWaitMs: number
  readonly waitingSince?: number
  readonly frozenUntil?: number
  readonly paused: boolean
  /** When a job was last admitted or departed; absent when none was. */
  readonly lastUsedAt?: number
  /** What its jobs survive. */
  readonly durability: Durability
}

/**
 * What it takes for accepted jobs to be lost.
 *
 * | durability | they are lost                                                          |
 * |------------|------------------------------------------------------------------------|
 * | memory     | when this process ends                                                 |
 * | none       | when Redis restarts: it writes no append-only file                     |
 * | everysec   | when the machine of Redis loses power: those of the last second or two |
 * | always     | with the disk of Redis                                                 |
 */
export const DURABILITIES = ['memory', 'none', 'everysec', 'always'] as const
export type Durability = (typeof DURABILITIES)[number]

export const BUCKET_STATES = ['idle', 'waiting', 'full', 'frozen', 'paused'] as const
export type BucketState = (typeof BUCKET_STATES)[number]

/** The state of a bucket in which `waiting` cost units wait. */
export function bucketState(
  waiting: number,
  capacity: number,
  isPaused: boolean,
  isFrozen: boolean,
): BucketState {
  if (isPaused) return 'paused'
  if (isFrozen) return 'frozen'
  if (waiting === 0) return 'idle'
  return waiting >= capacity ? 'full' : 'waiting'
}

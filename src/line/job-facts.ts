import type { JobState } from '../core/job.ts'
import type { QuotaHold } from '../core/usage.ts'

/** What a store knows of a job, and of everything that must happen before it starts. Times are microseconds. */
export interface JobFacts {
  /** When the store was read. */
  readonly now: number
  readonly id: string
  readonly key: string
  readonly state: JobState
  /** Attempts that were used up or are running. */
  readonly attempt: number
  readonly admittedAt: number
  /** When its handler last started. */
  readonly startedAt?: number | undefined
  readonly endedAt?: number | undefined
  readonly error?: string | undefined
  /** Of one that has not started, or waits to be tried again. */
  readonly wait?: WaitFacts | undefined
}

/** Where a job stands, and what its bucket waits for. */
export interface WaitFacts {
  /** 1 departs next. */
  readonly position: number
  readonly ahead: Ahead
  /** If no start is late and the bucket is not paused; not before now. */
  readonly departsAt: number
  /** What the further parts of the limit have to do with it; absent where it has none, or the job has its slot. */
  readonly parts?: PartsFacts | undefined
  /** The limit that the bucket is held to, as text. */
  readonly limit: string
  /** The earliest time of the next departure. */
  readonly next: number
  readonly frozenUntil: number
  readonly paused: boolean
  /** A job whose attempt failed does not depart before this. */
  readonly readyAt?: number | undefined
  /** The job, or one ahead of it, needs a handler. */
  readonly needsHandler: boolean
  readonly head: HeadFacts
  /** A job that was handed over: the worker that holds its slot, and the slot; both unknown before the worker asks. */
  readonly handed?: { readonly worker?: string | undefined; readonly slot?: number | undefined } | undefined
  /** What holds the head of the line although its slot has come. */
  readonly stall?: Stall | undefined
  /** What totals have to do with it; absent where none is above its bucket, or it has its slot. */
  readonly under?: UnderTotals | undefined
}

/** What the totals above a bucket have to do with a job that waits, or is to come. */
export interface UnderTotals {
  /** The innermost first. */
  readonly totals: readonly TotalFacts[]
  /** Nothing else waits below them, and nothing but paces decides. */
  readonly isExact: boolean
  /** In microseconds; undefined: no bound is known. */
  readonly waitAtMost: number | undefined
}

/** One of those totals, and where the job stands below it: see `PlaceUnder`. */
export interface TotalFacts {
  readonly path: string
  readonly pattern: string
  /** As text. */
  readonly limit: string
  readonly others: number
  readonly weight: number
  readonly weights: number
  readonly ahead: number
  readonly departsAt: number
  readonly frozenUntil: number
  readonly paused: boolean
  /** No place is free. */
  readonly isFull: boolean
  /** The quota that has room for the job last, if none has at `departsAt`. */
  readonly quota?: QuotaHold | undefined
}

/** What quotas and places have to do with a job that waits. */
export interface PartsFacts {
  /** `departsAt` may be too early: more jobs stand ahead than are looked at, a retry waits, or places decide about it. */
  readonly mayBeLater: boolean
  /** It may be too late: it counts starts that may still be settled for less. */
  readonly mayBeEarlier: boolean
  /** The last quota that holds the job or one ahead of it. */
  readonly quota?: LineHold | undefined
  /** No place is free. */
  readonly isFull: boolean
}

/** A quota that holds a line. */
export interface LineHold extends QuotaHold {
  /** It holds the job itself, and not one ahead of it. */
  readonly isOwn: boolean
}

/** The jobs ahead: how many, what they cost, and the ids of the first, in order. */
export interface Ahead {
  readonly jobs: number
  readonly cost: number
  readonly ids: readonly string[]
}

/** The head of the line: whether it is a turn, and when it is due; Infinity while the bucket is paused. */
export interface HeadFacts {
  readonly isTurn: boolean
  readonly due: number
}

/**
 * - no-worker: this process has no open worker
 * - busy: every handler of this process runs
 * - shared-out: the key or its segment has its share of the handlers of this process, and the free ones are kept for others
 * - unclaimed: on a shared line, no scheduler has handed a job over since then
 * - untaken: on a shared line, the head has been due since then and no worker has taken it; so many others run
 */
export type Stall =
  | { readonly kind: 'no-worker' }
  | { readonly kind: 'busy'; readonly running: number }
  | { readonly kind: 'shared-out'; readonly running: number }
  | { readonly kind: 'unclaimed'; readonly since: number }
  | { readonly kind: 'untaken'; readonly since: number; readonly running: number }

/** How many of the jobs ahead are named. */
export const MOST_NAMED = 10

/**
 * So many jobs before another are looked at one by one. What stands behind those is known by its sums: exactly, unless more
 * retries wait than that, which are then assumed to depart first.
 */
export const MOST_READ = 200

import type { JobState } from '../core/job.ts'

/** What a store knows of a job, and of all that must pass before it starts. Times are microseconds. */
export interface JobFacts {
  /** When it was looked. */
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

/** Where somebody stands, and what his bucket waits for. */
export interface WaitFacts {
  /** 1 departs next. */
  readonly position: number
  readonly ahead: Ahead
  /** If nobody is late and the bucket is not paused; not before now. */
  readonly departsAt: number
  /** The limit that the bucket is held to, as text. */
  readonly limit: string
  /** Before that its last departure lets nobody go. */
  readonly next: number
  readonly frozenUntil: number
  readonly paused: boolean
  /** Of one whose attempt failed: he does not depart before. */
  readonly readyAt?: number | undefined
  /** He, or somebody before him, needs a handler. */
  readonly needsHandler: boolean
  readonly head: HeadFacts
  /** He was handed over: the worker that has his slot, and the slot; neither is known before it was asked for. */
  readonly handed?: { readonly worker?: string | undefined; readonly slot?: number | undefined } | undefined
  /** What keeps the head of the line, though it may go. */
  readonly stall?: Stall | undefined
}

/** Those who depart before: how many, what they cost, and the first of them in their order. */
export interface Ahead {
  readonly jobs: number
  readonly cost: number
  readonly ids: readonly string[]
}

/** The first of the line: a caller who needs no handler, and since when it may go; Infinity while the bucket is paused. */
export interface HeadFacts {
  readonly isTurn: boolean
  readonly due: number
}

/**
 * - no-worker: nobody in this process has a handler
 * - busy: each handler of this process runs
 * - shared-out: the key has its share of the handlers of this process, and those that are free are kept for other keys
 * - unclaimed: on a shared line, nobody has handed anything over since then
 * - untaken: on a shared line, the head may go since then and nobody has taken it; so many others run
 */
export type Stall =
  | { readonly kind: 'no-worker' }
  | { readonly kind: 'busy'; readonly running: number }
  | { readonly kind: 'shared-out'; readonly running: number }
  | { readonly kind: 'unclaimed'; readonly since: number }
  | { readonly kind: 'untaken'; readonly since: number; readonly running: number }

/** So many of those who depart before are named. */
export const MOST_NAMED = 10

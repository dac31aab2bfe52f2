import type { Audit } from '../conformance/history.ts'
import type { Admission, BucketView, JobSettings, JobView } from '../core/job.ts'
import type { ChangedRules, LayeredBook, RuleChange } from '../core/layered-book.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from './bucket-query.ts'

/**
 * What keeps the lines: an interface of verbs, each with the transition that it performs. `now` is an argument, in
 * microseconds. Not in it: clocks, timers, handlers, events and the choice of a worker; and nothing that names a
 * store.
 */
export interface Backend {
  /** -> waiting, or refused with nothing changed. @throws NoLimitError, IdConflictError */
  admit(request: JobRequest, now: number): Admission
  /** The same for many, in order. @throws as `admit` does for any of them, with none admitted */
  admitMany(requests: readonly JobRequest[], now: number): Admission[]
  /** The verdict that `admit` would give; changes nothing. */
  forecast(key: string, cost: number, now: number): Admission
  /** waiting | retrying -> cancelled; undefined when the job is unknown or no longer waits. */
  cancel(id: string, now: number): BackendJob | undefined
  /** waiting | retrying -> expired, for every job whose deadline has passed. */
  expire(now: number): BackendJob[]
  /**
   * waiting | retrying -> handed: the head of the bucket whose slot came first, once it has come. `hasRoom` false: no
   * handler is free, so only those who take turns may go. Buckets that the pool refuses are held back until `letIn`.
   */
  claim(now: number, hasRoom?: boolean, pool?: HandlerPool): BackendJob | undefined
  /** The pool has changed: those that were held back may depart. */
  letIn(): void
  /** handed -> running: reserves the slot for a handler that starts at `now`, and answers the slot. */
  gate(job: BackendJob, now: number): number
  /**
   * The job to which `gate` gave `slot` was started: the next departure is counted from the latest time at which its
   * handler can have begun, which is answered. To be told before anything else of the bucket departs.
   */
  began(job: BackendJob, slot: number, call: Call): number
  /** running -> completed | failed | retrying. */
  finish(job: BackendJob, outcome: Outcome, now: number): void

  /** No departures of the bucket before `until`; a shorter freeze never shortens a longer one. Answers the end. */
  freeze(key: string, until: number, now: number): number
  /** Departures go on at the rate. Answers whether the bucket was frozen. */
  unfreeze(key: string, now: number): boolean
  /** No departures of the bucket until `resume`. */
  pause(key: string, now: number): void
  resume(key: string, now: number): void
  /** The rule book in force. */
  readonly rules: LayeredBook
  /** Waiting jobs are spaced anew under a changed limit at once. */
  changeRules(change: RuleChange, now: number): ChangedRules

  job(id: string, now: number): JobView | undefined
  inspect(key: string, now: number): BucketView | undefined
  /** The keys of all live buckets. Others may come and go while it is walked, and yet it comes to its end. */
  keys(): Iterable<string>
  /** How the job that was claimed departs from its bucket; before `gate`, which changes all of it. */
  pace(job: BackendJob): Pace & { readonly due: number; readonly tolerance: number }
  /** Pauses now and then, so that a walk over a million buckets holds nobody up. @throws InvalidOptionsError */
  list(query: BucketQuery, now: number): Generator<undefined, BucketPage, void>
  /** Sums over all live buckets, for each group of keys; pauses as `list` does. */
  tally(groups: readonly TallyGroup[], now: number): Generator<undefined, BucketTally[], void>
  /** Every job that waits. */
  waiting(): Iterable<BackendJob>
  /** Recounts every job by state. */
  audit(): Audit
  /** Forgets buckets that are empty and whose `next` has passed, a bounded number at a time; answers how many. */
  forget(now: number): number

  /** When the next departure is due, of all or of those who need no handler; Infinity when nothing waits. */
  nextDeparture(hasRoom?: boolean): number
  /** By how much that departure may be late and still keep its slot, in microseconds. */
  nextTolerance(hasRoom?: boolean): number
  /** When the next deadline passes or the next bucket may be forgotten; Infinity when there is none. */
  nextChore(): number
  /** Jobs that have not ended. */
  readonly live: number
}

/** Says who may have a handler. */
export interface HandlerPool {
  mayTake(key: string, now: number): boolean
}

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

/** The call of a handler, or of those who wait for a caller's turn, between two looks at the clock. Microseconds. */
export interface Call {
  readonly calledAt: number
  readonly returnedAt: number
  /** How long after the call the first statement can have run, as far as that can be told from what calls take otherwise. */
  readonly delay: number
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

/** How a handler ended. */
export type Outcome =
  | { readonly kind: 'completed'; readonly result: string | undefined }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'retry'; readonly error: string; readonly readyAt: number }
  | { readonly kind: 'freeze'; readonly readyAt: number }

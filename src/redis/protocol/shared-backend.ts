import type { Audit } from '../../conformance/history.ts'
import type { OldRuleBookError } from '../../core/errors.ts'
import type { Admission, BucketView, JobView } from '../../core/job.ts'
import type { ChangedRules, LayeredBook, RuleChange } from '../../core/layered-book.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from '../../line/bucket-query.ts'
import type { BackendJob, JobRequest, Pace } from '../../line/job.ts'
import type { HandlerOutcome } from '../../line/outcome.ts'

/**
 * What keeps lines that many processes share: the verbs of producers, schedulers and workers, each atomic, each with
 * the transition that it performs. The store has the one clock; `now` is passed by tests alone. Times and durations
 * are microseconds; a duration counts from the moment at which the store runs the verb.
 *
 * Lines stand in shards; all jobs of one key stand in one. Verbs of schedulers and workers name the shard.
 *
 * @throws BackendUnavailableError from every verb when the store does not answer; whether it ran is then unknown,
 * and the same call again does no harm
 */
export interface SharedBackend {
  readonly shards: number
  shardOf(key: string): number

  /** -> waiting, or refused with nothing changed. `deadline` is a duration. @throws NoLimitError, IdConflictError */
  admit(request: NamedRequest, now?: number): Promise<SharedAdmission>
  /** The same for many: one call for each shard; verdicts in order. */
  admitMany(requests: readonly NamedRequest[], now?: number): Promise<SharedAdmission[]>
  /** The verdict that `admit` would give; writes nothing. */
  forecast(key: string, cost: number, now?: number): Promise<Admission>
  /** waiting | retrying | handed and not granted -> cancelled; undefined when it is unknown or has departed. */
  cancel(id: string, now?: number): Promise<SharedJob | undefined>
  /** The same for the caller of a turn, who will not take it: also with a slot. */
  leave(id: string, now?: number): Promise<SharedJob | undefined>

  /** waiting | retrying -> handed, for the heads that are due within the look-ahead; elects who may claim. */
  claim(shard: number, request: ClaimRequest, now?: number): Promise<Claim>
  /** handed | running -> waiting | retrying at the head, for jobs whose lease has ended; failed after crashes. */
  recover(shard: number, now?: number): Promise<Recovered[]>
  /** waiting | retrying -> expired, for jobs whose deadline has passed. After a call that failed, the next one tells of its jobs. */
  expire(shard: number, now?: number): Promise<SharedJob[]>
  /** Resolves when something became due earlier than was known, or after `atMost`. */
  awaitWake(shard: number, atMost: number): Promise<void>
  /** The scheduler claims no more, and waits for no wake: another may be elected at once. */
  resign(shard: number, scheduler: string): Promise<void>
  /** Resolves when the elected scheduler has resigned, for one of those that wait for it, or after `atMost`. */
  awaitVacancy(shard: number, atMost: number): Promise<void>

  /** The data of jobs that are handed over, for a worker that was told by the gate how large they are. */
  fetch(shard: number, jobs: readonly HandedJob[]): Promise<FetchAnswer[]>
  /** handed -> handed with a slot, or sent back. */
  gate(shard: number, requests: readonly GateRequest[], now?: number): Promise<GateReply>
  /** handed with a slot -> running. False: the job is not this worker's any more. */
  start(shard: number, starts: readonly StartReport[], now?: number): Promise<boolean[]>
  /** running (or handed with a slot, when the start is told along) -> completed | failed | retrying; or back. */
  finish(shard: number, reports: readonly FinishReport[], now?: number): Promise<FinishAnswer[]>
  /** Moves the end of leases; false: the lease was lost. With epoch 0: that of the place of a turn. */
  renew(shard: number, jobs: readonly HandedJob[], lease: number, now?: number): Promise<boolean[]>

  /** No departures of the bucket for `duration`. Answers the end of the longest freeze. */
  freeze(key: string, duration: number, now?: number): Promise<Holding>
  /** Departures go on at the rate. */
  unfreeze(key: string, now?: number): Promise<Holding>
  pause(key: string, now?: number): Promise<Holding>
  resume(key: string, now?: number): Promise<Held>
  /** The rule book as this process knows it. */
  readonly rules: LayeredBook
  /** Resolves when every waiting job is spaced anew. @throws RuleBookConflictError */
  changeRules(change: RuleChange, now?: number): Promise<ChangedRules>
  /**
   * Fetches the rule book if others have changed it: a process that asks for nothing else does not hear of it. Answers
   * what its user has to hear: that limits which it brought were replaced, and by whom; once. Here `now` is the time of
   * this process.
   */
  followRules(now?: number): Promise<OldRuleBookError[]>

  job(id: string, now?: number): Promise<JobView | undefined>
  inspect(key: string, now?: number): Promise<BucketView | undefined>
  /** In slices that are bounded in the time of the store. @throws InvalidOptionsError */
  list(query: BucketQuery, now?: number): Promise<BucketPage>
  /** Sums over all live buckets, for each group of keys; while they move, one may be counted twice. */
  tally(groups: readonly TallyGroup[]): Promise<BucketTally[]>
  /** All live buckets in no order, a bounded number at a time; one that lives throughout may be seen twice. */
  survey(): AsyncIterable<readonly BucketView[]>
  audit(): Promise<Audit>
  /** Somebody saw the clock of a shard jump: each of its buckets waits one interval, counted from now. */
  quarantine(shard: number, now?: number): Promise<void>
  /** What the clock of a shard says. */
  time(shard: number): Promise<number>
}

/** Named by its producer, who makes up a name where the user has none: what is asked twice is done once. */
export type NamedRequest = JobRequest & { readonly id: string }

/** A verdict and the moment at which it was given. */
export interface SharedAdmission {
  readonly admission: Admission
  readonly at: number
}

/** The moment at which something was done. */
export interface Held {
  readonly at: number
}

/** One handing over of a job; a later one has a higher epoch and makes this one void. */
export interface HandedJob {
  readonly id: string
  readonly epoch: number
}

export interface Holding extends Held {
  /** When the longest freeze of the bucket ends. */
  readonly until: number
  /** The slot of one who was granted it before and starts all the same; 0 when there is none. */
  readonly departsAt: number
  /** A freeze was lifted. */
  readonly isLifted: boolean
}

/** A job that left its line without a handler. */
export interface SharedJob {
  readonly id: string
  readonly key: string
  readonly cost: number
  readonly attempt: number
  readonly at: number
}

export interface ClaimRequest {
  /** Names the scheduler that asks. */
  readonly scheduler: string
  /** How long before its slot a job is handed over. */
  readonly lookAhead: number
  /** The most jobs to take, 1 to 200. */
  readonly most: number
  /** For how long a job that was handed over belongs to nobody else. */
  readonly lease: number
}

export interface Claim {
  /** False: another scheduler is elected, until `leaderUntil`; nothing was claimed. */
  readonly isElected: boolean
  readonly leaderUntil: number
  readonly jobs: readonly (HandedJob & { readonly key: string })[]
  readonly now: number
  /** When `claim`, `recover` and `expire` have something to do next; Infinity when nothing is known. */
  readonly nextClaim: number
  readonly nextRecovery: number
  readonly nextExpiry: number
}

export interface Recovered extends HandedJob {
  readonly key: string
  readonly cost: number
  readonly attempt: number
  readonly at: number
  /** Its handler may have started. */
  readonly crashed: boolean
  /** It crashed once too often, and failed. */
  readonly failed: boolean
  /** A turn whose caller is not there any more; it was cancelled. */
  readonly gone: boolean
}

export interface GateRequest extends HandedJob {
  /** Names the worker that asks. */
  readonly worker: string
  /** How long the answer may take; the slot is not before now + lead. */
  readonly lead: number
  /** For how long the job belongs to the worker if it does not renew. */
  readonly lease: number
  /** The slot that was granted before and missed. */
  readonly missed?: number
  /** The data were fetched: the answer shall not carry them. */
  readonly hasData?: boolean
}

export interface GateReply {
  readonly now: number
  readonly answers: readonly GateAnswer[]
}

export type GateAnswer =
  /**
   * May start from `startAt` on, `latest` at the last. Nobody else of the bucket is granted a slot before the start was
   * reported, so a late start breaks nothing; one later than `tolerance` moves the grid of slots.
   */
  | {
      readonly kind: 'granted'
      readonly slot: number
      /** The slot of the grid that it would have had in time: before `slot` where it came too late for it. */
      readonly due: number
      readonly startAt: number
      readonly latest: number
      readonly tolerance: number
      readonly pace: Pace
      readonly job: BackendJob
    }
  /** Too large to travel with a slot: nothing was reserved; to be fetched before the gate is asked again. */
  | { readonly kind: 'data'; readonly bytes: number }
  /** Somebody before it has not started; ask again at `until`. */
  | { readonly kind: 'wait'; readonly until: number }
  /** Its slot is far away: it stands at the head of its line again. */
  | { readonly kind: 'returned' }
  | { readonly kind: 'expired'; readonly job: SharedJob }
  /** It is not this worker's, or not any more. */
  | { readonly kind: 'stale' }
  /** Something in the store that is not ours stands where the job, its state or its bucket should. */
  | { readonly kind: 'foreign' }

export type FetchAnswer =
  /** JSON text. */
  | { readonly kind: 'yes'; readonly data: string }
  /** Not this worker's, or not any more; or not readable, as of the gate. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'foreign' }

export interface StartReport extends HandedJob {
  readonly startedAt: number
}

export interface FinishReport extends HandedJob {
  /** When its handler started, if that was not reported yet. */
  readonly startedAt?: number
  readonly outcome: SharedOutcome
}

export type SharedOutcome =
  | Exclude<HandlerOutcome, { kind: 'freeze' }>
  /** The bucket is frozen for `duration`, which may be 0: then nothing is frozen. The attempt is given back. */
  | { readonly kind: 'freeze'; readonly duration: number }
  /** It did not start: to the head of its line. */
  | { readonly kind: 'back'; readonly worker: string }

/** `isMine` false: the lease was lost and nothing was changed. */
export interface FinishAnswer {
  readonly isMine: boolean
  readonly at: number
  /** When a job that waits again may depart. */
  readonly readyAt?: number
}

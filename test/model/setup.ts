import type { MutantName } from './mutants.ts'

export interface ModelLimit {
  readonly capacity: number
  readonly interval: number
  readonly tolerance: number
  /** How many attempts may run at once. Default: any number. */
  readonly places?: number
  readonly quotas?: readonly ModelQuota[]
}

/** So many units may start in a window that ends at any time. */
export interface ModelQuota {
  readonly amount: number
  readonly window: number
  /** Counts tokens, of which a job that names none costs so many. Default: counts the cost of jobs. */
  readonly each?: number
}

export interface ModelJob {
  readonly cost: number
  /** After which time it expires. Default: never. */
  readonly deadline?: number
  /** What it is estimated to take of quotas that count tokens. Default: what they say. */
  readonly tokens?: number
  /** What an attempt really took, if it settles. */
  readonly took?: number
}

/** The durations of the protocol, in ticks: those of the real scripts, or smaller ones in the same order of size. */
export interface Durations {
  /** `FARTHEST_SLOT` in scripts/lib/pace.lua */
  readonly farthest: number
  /** `LEAST_PASSING`, `HEARD_EACH` and `RESTART_GRACE` in scripts/lib/lease.lua, `SILENCE` in forward.lua */
  readonly silence: number
  readonly leastPassing: number
  readonly heardEach: number
  readonly grace: number
  /** `LEADER_LEASE` and `LONG_SLEEP` in verbs/claim.lua */
  readonly leaderLease: number
  readonly longSleep: number
  /** `usage.LOST` in scripts/lib/charge.lua */
  readonly lost: number
  /** `REPLAY_WINDOW` in scripts/lib/retention.lua */
  readonly replay: number
  /** The difference of clocks for which `start` in scripts/lib/grant.lua allows */
  readonly clockAllowance: number
  /** One microsecond, or the smallest time there is. */
  readonly moment: number
  /** `EVEN` in src/redis/scripts/prelude.ts: the share of the interval that a start keeps from a late one before it. */
  readonly even: number
  /** The lease that a claim gives, and that of a worker. */
  readonly claimLease: number
  readonly lease: number
}

export type FaultKind =
  | 'lost'
  | 'late'
  /** As `late`, of settlements alone. */
  | 'settled-late'
  | 'dropped'
  | 'doubled'
  | 'kill'
  | 'stop'
  | 'outage'
  | 'restart'
  | 'rollback'
  | 'wipe'
  | 'forward'
  | 'back'

/** What one run of the checker explores; README.md says what each bound means. */
export interface Setup {
  readonly name: string
  readonly jobs: readonly ModelJob[]
  /** The first is in force at the beginning; each change brings the next. */
  readonly limits: readonly ModelLimit[]
  readonly durations: Durations
  readonly lookAhead: number
  /** Ended jobs that are remembered. */
  readonly keep: number
  /** How many faults may happen, and of which kinds. */
  readonly faults: number
  readonly kinds: readonly FaultKind[]
  /** How often handlers may ask to be tried again, and how many freezes and cancellations there may be. */
  readonly retries: number
  readonly freezes: number
  readonly cancels: number
  /** How often attempts may say what they really took. */
  readonly settles: number
  /** Workers may give back jobs that did not start. */
  readonly givesBack: boolean
  /** For how long: ticks. */
  readonly away: number
  /** Ids of forgotten jobs may be used again so often. */
  readonly reuses: number
  /** How far the clock of the store is moved. */
  readonly clockStep: number
  readonly mutants: ReadonlySet<MutantName>
}

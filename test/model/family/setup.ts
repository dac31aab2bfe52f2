import { SMALL } from '../durations.ts'
import type { Durations, FaultKind, ModelLimit } from '../setup.ts'
import type { FamilyMutantName } from './mutants.ts'

/** A bucket, or a total, whose path ends in `/`. It stands below all totals whose paths begin its key. */
export interface ModelChild {
  readonly key: string
  readonly limit: ModelLimit
  /** What its limit may be changed to, once. Default: it is not changed. */
  readonly changed?: ModelLimit
  /** Default: 1. */
  readonly weight?: number
}

export function limitsOf({ limit, changed }: ModelChild): readonly ModelLimit[] {
  return changed === undefined ? [limit] : [limit, changed]
}

/** The durations of totals, in ticks. */
export interface FamilyDurations extends Durations {
  /** `LEAST_TOLERANCE` in scripts/lib/under.lua */
  readonly leastTolerance: number
  /** `TAG_ASKED` and `TAG_ASKED_BY` in scripts/lib/gone.lua */
  readonly tagAsked: number
  readonly tagAskedBy: number
  /** `GRACE` in scripts/lib/overdue.lua; Infinity: nothing that was handed over is ever overdue. */
  readonly overdueGrace: number
}

export interface FamilyJob {
  /** Its bucket, by the place of it in the setup. */
  readonly of: number
  readonly cost: number
}

/** What one run of the checker explores. The bounds are those of the model of one bucket. */
export interface FamilySetup {
  readonly name: string
  /** The outermost first. */
  readonly totals: readonly ModelChild[]
  readonly buckets: readonly ModelChild[]
  /** Those of one bucket come in the order in which they stand here. */
  readonly jobs: readonly FamilyJob[]
  readonly durations: FamilyDurations
  readonly lookAhead: number
  readonly schedulers: number
  readonly workers: number
  /** Jobs that one worker may hold. */
  readonly holds: number
  readonly faults: number
  readonly kinds: readonly FaultKind[]
  /** How often workers may give back jobs that did not start. */
  readonly returns: number
  /** How often a bucket or a family may be frozen, and paused. */
  readonly freezes: number
  readonly pauses: number
  /** Tags are kept in so many parts of a cost unit, so that they are whole. */
  readonly tagParts: number
  /** Only this law is judged. Default: all. */
  readonly law?: string
  readonly mutants: ReadonlySet<FamilyMutantName>
}

export const SMALL_FAMILY: FamilyDurations = {
  ...SMALL,
  leastTolerance: 1,
  tagAsked: 1,
  tagAskedBy: 8,
  overdueGrace: Number.POSITIVE_INFINITY,
}

const PACE = { capacity: 9, interval: 1, tolerance: 0 }
const TOTAL = { key: 'f/', limit: { capacity: 20, interval: 1, tolerance: 0 } }

const NOTHING: Omit<FamilySetup, 'name'> = {
  totals: [TOTAL],
  buckets: [
    { key: 'f/a', limit: PACE },
    { key: 'f/b', limit: PACE },
  ],
  jobs: [
    { of: 0, cost: 1 },
    { of: 1, cost: 1 },
  ],
  durations: SMALL_FAMILY,
  lookAhead: 0,
  schedulers: 1,
  workers: 2,
  holds: 1,
  faults: 0,
  kinds: [],
  returns: 0,
  freezes: 0,
  pauses: 0,
  tagParts: 2,
  mutants: new Set(),
}

export function familySetup(name: string, part: Partial<FamilySetup> = {}): FamilySetup {
  return { name, ...NOTHING, ...part }
}

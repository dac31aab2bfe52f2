import { VERBS } from '../../actors/transition.ts'
import type { Space } from '../../check/space.ts'
import type { FamilyStep, FamilyTransition } from '../actors/workers.ts'
import type { FamilyMutantName } from '../mutants.ts'
import { familySetup, SMALL_FAMILY } from '../setup.ts'
import { FAMILY_TRANSITIONS, familySpace } from './space.ts'

const named = (name: string) => FAMILY_TRANSITIONS.find((transition) => transition.name === name)!
const ON_ITS_WAY = ['claims', 'hands over what it claimed', 'BullMQ delivers']
const RUN = ['asks for a slot', 'looks, and calls the handler', 'reports the start', 'reports the end']

/** The same transitions, one behind the other: what happens to the job whose turn it is. */
function inOne(name: string, names: readonly string[]): FamilyTransition {
  const parts = names.map(named)
  return {
    name,
    verb: VERBS.claim,
    ways: () => 1,
    take(step, way) {
      const before = step.world.cells.slice()
      const isDone = parts.every((part) => part.take(step, way))
      if (!isDone) step.world.cells.set(before)
      return isDone
    },
  }
}

/** Then a claim only forgets. */
const CLAIM_OF_NOTHING: FamilyTransition = {
  ...named('claims'),
  take(step, way) {
    const before = step.world.cells.slice()
    const isNothing = named('claims').take(step, way) && step.world.schedulers[way]![0]!.job === 0
    if (!isNothing) step.world.cells.set(before)
    return isNothing
  },
}

/** In whole jobs, so that there may be enough of them to show shares. */
const WHOLE_JOBS = [
  named('a producer enqueues'),
  inOne('the job whose turn it is runs', [...ON_ITS_WAY, ...RUN]),
  inOne('the job whose turn it is comes back', [...ON_ITS_WAY, 'gives the job back']),
  inOne('the job whose turn it is comes back with its slot', [
    ...ON_ITS_WAY,
    'asks for a slot',
    'gives the job back',
  ]),
  CLAIM_OF_NOTHING,
  named('time passes'),
]

export interface SharesSetup {
  /** How many jobs each of the two buckets has. */
  readonly jobs: readonly [number, number]
  /** How often one may come back. */
  readonly returns?: number
  /** Of the second bucket. Default: 1. */
  readonly weight?: number
  /** By its own limit. Default: as the total, 1. */
  readonly interval?: number
  readonly mutants?: ReadonlySet<FamilyMutantName>
}

/** As `far` of the small times. */
const NEVER_ENDS = 100

/** Two buckets below a total, one worker without faults, and no law but that of fair shares. */
export function sharesSpace({
  jobs,
  returns = 0,
  weight = 1,
  interval = 1,
  mutants = new Set(),
}: SharesSetup): Space<FamilyStep> {
  const [first, second] = jobs
  const setup = familySetup(`${first} and ${second} jobs, ${returns} come back, weight ${weight}`, {
    totals: [{ key: 'f/', limit: { capacity: 90, interval: 1, tolerance: 0 } }],
    buckets: [
      { key: 'f/a', limit: { capacity: 30, interval, tolerance: 0 } },
      { key: 'f/b', limit: { capacity: 30, interval: 1, tolerance: 0 }, weight },
    ],
    jobs: jobs.flatMap((count, of) => Array.from({ length: count }, () => ({ of, cost: 1 }))),
    // Leases that never end are not renewed.
    durations: { ...SMALL_FAMILY, lease: NEVER_ENDS, claimLease: NEVER_ENDS },
    workers: 1,
    returns,
    tagParts: weight === 1 ? 2 : 6,
    law: 'L12 fair',
    mutants,
  })
  return familySpace(setup, WHOLE_JOBS)
}

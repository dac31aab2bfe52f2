import type { FaultKind } from '../setup.ts'
import { type FamilySetup, familySetup, type ModelChild, SMALL_FAMILY } from './setup.ts'

/** By the places of their buckets. */
export const jobsOf = (...buckets: readonly number[]) => buckets.map((of) => ({ of, cost: 1 }))
const one = (...kinds: readonly FaultKind[]) => ({ faults: 1, kinds })
const below = (key: string, interval: number, more: Partial<ModelChild['limit']> = {}): ModelChild => ({
  key,
  limit: { capacity: 20, interval, tolerance: 0, ...more },
})
const total = (...limit: readonly [number, Partial<ModelChild['limit']>?]) => ({
  totals: [below('f/', ...limit)],
})
/** An outer total that is slower than the inner one; a worker hears of two jobs before the first has started. */
export const TWO_LEVELS = {
  totals: [below('f/', 3), below('f/g/', 1)],
  buckets: [below('f/g/a', 1), below('f/b', 1)],
  lookAhead: 3,
}
/** What is handed over in the look-ahead must not be too far away for the gate. */
const FAR_LEVELS = { ...TWO_LEVELS, durations: { ...SMALL_FAMILY, farthest: TWO_LEVELS.lookAhead } }
const ALONE = { workers: 1 }
const COSTLY_JOBS = [
  { of: 0, cost: 2 },
  { of: 1, cost: 1 },
  { of: 1, cost: 1 },
]
const HOLDS_TWO = { ...ALONE, holds: 2 }
const changed = (...limits: readonly (readonly [number, number])[]) => {
  const [before, after] = limits.map(([interval, tolerance]) => below('f/', interval, { tolerance }))
  return { totals: [{ ...before!, changed: after!.limit }], lookAhead: 3, durations: FAR_LEVELS.durations }
}
/** One job in two ticks, below a total that would let one go in each. */
export const ALONE_WITH_QUOTA = { ...ALONE, ...total(1, { quotas: [{ amount: 1, window: 2 }] }) }
/** Slots that are out together, of which a quota allows one. */
const QUOTA = {
  ...total(1, { tolerance: 1, quotas: [{ amount: 1, window: 2 }] }),
  lookAhead: 3,
  durations: FAR_LEVELS.durations,
}
/** The total becomes slower, while no limit of a bucket holds its jobs. */
export const CHANGED_TOTAL = {
  ...ALONE,
  totals: [{ ...below('f/', 2), changed: below('f/', 3).limit }],
}

/** A few seconds: for each run of the tests. */
export const SMALL_FAMILIES: readonly FamilySetup[] = [
  familySetup('2 + 1 jobs, one worker', { ...ALONE, jobs: jobsOf(0, 0, 1) }),
  familySetup('1 + 1 jobs, calls', { ...total(2, { tolerance: 1 }), ...one('lost') }),
  familySetup('1 + 1 jobs, deliveries', { ...total(2), ...one('dropped') }),
  familySetup('1 + 1 jobs, restart', { ...total(2), ...one('restart') }),
  familySetup('1 + 1 jobs, given back', { returns: 3 }),
  familySetup('1 + 1 jobs, one place', total(1, { places: 1 })),
  familySetup('2 + 1 jobs, room for one', { ...total(1, { capacity: 1 }), ...ALONE, jobs: jobsOf(0, 0, 1) }),
  familySetup('1 + 1 jobs, two levels', TWO_LEVELS),
  familySetup('1 + 1 jobs, frozen', { ...ALONE, freezes: 1 }),
  familySetup('1 + 1 jobs, paused', { ...ALONE, pauses: 1 }),
  familySetup('1 + 1 jobs, a slower total', changed([1, 2], [3, 0])),
  familySetup('1 + 1 jobs, a faster total', changed([3, 0], [1, 2])),
  familySetup('1 + 1 jobs, a quota', QUOTA),
]

/** For `npm run test:model`. */
export const FULL_FAMILIES: readonly FamilySetup[] = [
  ...SMALL_FAMILIES,
  familySetup('1 + 1 jobs, killed', { ...total(2, { tolerance: 1 }), ...one('kill') }),
  familySetup('1 + 1 jobs, one slot at a time, stopped', { ...total(2), lookAhead: 3, ...one('stop') }),
  familySetup('1 + 1 jobs, stopped', { ...total(2, { tolerance: 2 }), ...one('stop') }),
  familySetup('1 + 1 jobs, handed over early, stopped', {
    ...total(2, { tolerance: 1 }),
    lookAhead: 3,
    ...one('stop'),
  }),
  familySetup('1 + 1 jobs, two schedulers, killed', { ...total(2), ...ALONE, schedulers: 2, ...one('kill') }),
  familySetup('1 + 1 jobs, two levels, calls', { ...TWO_LEVELS, ...one('lost') }),
  familySetup('1 + 2 jobs, costs and weights', {
    ...ALONE,
    jobs: COSTLY_JOBS,
    buckets: [below('f/a', 1), { ...below('f/b', 1), weight: 2 }],
    tagParts: 6,
  }),
  familySetup('1 + 1 jobs, overdue, killed', {
    ...total(1),
    ...one('kill'),
    durations: { ...SMALL_FAMILY, overdueGrace: 1 },
  }),
  familySetup('2 + 1 jobs, one worker, given back', { ...ALONE, jobs: jobsOf(0, 0, 1), returns: 2 }),
  familySetup('1 + 1 jobs, frozen, calls', { ...ALONE, freezes: 1, ...one('lost') }),
  familySetup('1 + 1 jobs, two levels, frozen', { ...FAR_LEVELS, ...ALONE, freezes: 1 }),
  familySetup('1 + 1 jobs, a faster total, calls', { ...changed([2, 1], [1, 1]), ...one('lost') }),
  familySetup('2 + 1 jobs, a slower total', {
    ...changed([1, 2], [2, 1]),
    ...HOLDS_TWO,
    jobs: jobsOf(0, 0, 1),
  }),
  familySetup('2 + 1 jobs, a slower bucket', {
    ...ALONE,
    jobs: jobsOf(0, 0, 1),
    buckets: [{ ...below('f/a', 2), changed: below('f/a', 3).limit }, below('f/b', 1)],
  }),
  familySetup('1 + 1 jobs, a quota, calls', { ...QUOTA, ...one('lost') }),
  familySetup('1 + 2 jobs, costs and a quota', {
    ...ALONE,
    ...total(1, { quotas: [{ amount: 2, window: 4 }] }),
    jobs: COSTLY_JOBS,
  }),
  familySetup('1 + 1 jobs, paused, calls', { ...ALONE, pauses: 1, ...one('lost') }),
  familySetup('1 + 1 jobs, two levels, paused', { ...TWO_LEVELS, ...ALONE, pauses: 1 }),
]

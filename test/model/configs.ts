import { SMALL } from './durations.ts'
import type { FaultKind, ModelLimit, Setup } from './setup.ts'

const NOTHING: Omit<Setup, 'name'> = {
  jobs: [{ cost: 1 }, { cost: 1 }, { cost: 1 }],
  limits: [{ capacity: 3, interval: 2, tolerance: 0 }],
  durations: SMALL,
  lookAhead: 0,
  keep: 3,
  faults: 0,
  kinds: [],
  retries: 0,
  freezes: 0,
  cancels: 0,
  settles: 0,
  givesBack: false,
  away: 0,
  reuses: 0,
  clockStep: 0,
  mutants: new Set(),
}

export function setup(name: string, part: Partial<Setup> = {}): Setup {
  return { name, ...NOTHING, ...part }
}

const jobs = (count: number) => Array.from({ length: count }, () => ({ cost: 1 }))
const limit = (interval: number, tolerance = 0, capacity = 3): ModelLimit => ({
  capacity,
  interval,
  tolerance,
})
const one = (...kinds: readonly FaultKind[]) => ({ faults: 1, kinds })
const PROCESSES = ['kill', 'stop'] as const
const CALLS = ['lost', 'late'] as const
const BULLMQ = ['dropped', 'doubled'] as const
const HOLDS = { retries: 1, freezes: 1, cancels: 1, givesBack: true } as const
const ONE_PLACE = { limits: [{ ...limit(1), places: 1 }], lookAhead: 3 }
const TWO_PLACES = { limits: [{ ...limit(1), places: 2 }], lookAhead: 3 }
const ONE_IN_THREE = { limits: [{ ...limit(1), quotas: [{ amount: 1, window: 3 }] }], lookAhead: 3 }
const TOKENS = {
  jobs: [
    { cost: 1, took: 1 },
    { cost: 1, tokens: 1, took: 3 },
  ],
  limits: [{ ...limit(1), quotas: [{ amount: 3, window: 3, each: 2 }] }],
  lookAhead: 3,
  settles: 2,
}
const EVERYTHING = {
  limits: [
    {
      ...limit(1),
      places: 1,
      quotas: [
        { amount: 2, window: 3 },
        { amount: 3, window: 4, each: 2 },
      ],
    },
  ],
}
const LOWERED = {
  limits: [2, 1].map((amount, index) => ({ ...limit(1, 0, 3 + index), quotas: [{ amount, window: 3 }] })),
}
/**
 * A lease that two outages in a row cannot end, each just too short to lift it: `docs/redis.md` promises no more. A tick has passed
 * since it was renewed.
 */
export const LEAST_LEASE = 2 * SMALL.silence + 2
const LIMITS = [limit(3), limit(2), limit(4)]
const DEADLINES = [
  { cost: 1, deadline: 1 },
  { cost: 1, deadline: 3 },
] as const

/** A few seconds: for each run of the tests. */
export const SMALL_RUNS: readonly Setup[] = [
  setup('3 jobs, no fault'),
  setup('2 jobs, window of two, retry', { jobs: jobs(2), lookAhead: 3, retries: 1 }),
  setup('2 jobs, BullMQ', { jobs: jobs(2), ...one(...BULLMQ) }),
  setup('1 job, calls', { jobs: jobs(1), ...one(...CALLS), retries: 1 }),
  setup('1 job, processes, forgotten ids', { jobs: jobs(1), ...one(...PROCESSES), keep: 0, reuses: 1 }),
  setup('2 jobs, outage and restart', { jobs: jobs(2), ...one('outage', 'restart') }),
  setup('1 job, rollback', { jobs: jobs(1), ...one('rollback') }),
  setup('2 jobs, wipe', { jobs: jobs(2), ...one('wipe') }),
  setup('1 job, clock', { jobs: jobs(1), ...one('forward', 'back'), clockStep: 1 }),
  setup('1 job, retry, freeze, cancel, given back', { jobs: jobs(1), ...HOLDS }),
  setup('2 jobs, given back for a time', { jobs: jobs(2), givesBack: true, away: 2 }),
  setup('2 jobs, one place, killed', { jobs: jobs(2), ...ONE_PLACE, ...one('kill') }),
  setup('1 job, quota, retry, killed', { jobs: jobs(1), ...ONE_IN_THREE, retries: 1, ...one('kill') }),
  setup('2 jobs, quota, given back', {
    jobs: jobs(2),
    ...ONE_IN_THREE,
    lookAhead: 0,
    givesBack: true,
    away: 2,
  }),
  setup('2 jobs, tokens, settled', TOKENS),
  setup('2 jobs, limits', { jobs: jobs(2), limits: LIMITS }),
  setup('2 jobs, deadlines', { jobs: DEADLINES }),
]

/** For `npm run test:model`. */
export const FULL_RUNS: readonly Setup[] = [
  ...SMALL_RUNS,
  setup('3 jobs, window of two, retry', { lookAhead: 3, retries: 1 }),
  setup('3 jobs, calls', one(...CALLS)),
  setup('3 jobs, BullMQ', { lookAhead: 3, ...one(...BULLMQ) }),
  setup('3 jobs, processes', one(...PROCESSES)),
  setup('3 jobs, outage and restart', one('outage', 'restart')),
  setup('2 jobs, tolerance, processes', { jobs: jobs(2), limits: [limit(4, 1)], ...one(...PROCESSES) }),
  setup('2 jobs, window of two, everything once', {
    jobs: jobs(2),
    lookAhead: 3,
    ...one(...CALLS, ...BULLMQ, ...PROCESSES, 'outage', 'restart'),
  }),
  setup('2 jobs, rollback', { jobs: jobs(2), ...one('rollback') }),
  setup('2 jobs, window of two, rollback', { jobs: jobs(2), lookAhead: 3, ...one('rollback') }),
  setup('2 jobs, tolerance, wipe or stop', { jobs: jobs(2), limits: [limit(4, 1)], ...one('wipe', 'stop') }),
  setup('2 jobs, clock a little', { jobs: jobs(2), ...one('forward', 'back'), clockStep: 1 }),
  setup('2 jobs, clock jumps', { jobs: jobs(2), ...one('forward', 'back'), clockStep: 3 }),
  setup('3 jobs, retry, freeze, cancel, given back', HOLDS),
  setup('2 jobs, retry, freeze, cancel, given back, processes', {
    jobs: jobs(2),
    ...HOLDS,
    ...one(...PROCESSES),
  }),
  setup('2 jobs, given back for a time, calls and processes', {
    jobs: jobs(2),
    lookAhead: 3,
    givesBack: true,
    away: 2,
    ...one(...CALLS, ...PROCESSES),
  }),
  setup('3 jobs, one place, processes', { ...ONE_PLACE, ...one(...PROCESSES) }),
  setup('3 jobs, two places, calls', { ...TWO_PLACES, ...one(...CALLS) }),
  setup('1 job, quota, retry, processes', {
    jobs: jobs(1),
    ...ONE_IN_THREE,
    retries: 1,
    ...one(...PROCESSES),
  }),
  setup('2 jobs, quota, BullMQ, retry', {
    jobs: jobs(2),
    ...ONE_IN_THREE,
    lookAhead: 0,
    retries: 1,
    ...one(...BULLMQ),
  }),
  setup('2 jobs, quota, calls, given back', {
    jobs: jobs(2),
    ...ONE_IN_THREE,
    lookAhead: 0,
    givesBack: true,
    away: 2,
    ...one(...CALLS),
  }),
  setup('1 job, quota, retry, outage and restart', {
    jobs: jobs(1),
    ...ONE_IN_THREE,
    retries: 1,
    ...one('outage', 'restart'),
  }),
  setup('2 jobs, quota lowered, retry', { jobs: jobs(2), ...LOWERED, retries: 1 }),
  setup('2 jobs, quota, processes', { jobs: jobs(2), ...ONE_IN_THREE, lookAhead: 0, ...one(...PROCESSES) }),
  setup('2 jobs, tokens, settled, restart', { ...TOKENS, lookAhead: 0, ...one('restart') }),
  setup('1 job, tokens, settled, retry, processes', {
    ...TOKENS,
    jobs: [{ cost: 1, took: 1 }],
    retries: 1,
    ...one(...PROCESSES),
  }),
  setup('1 job, tokens, settled, calls, retry', {
    ...TOKENS,
    jobs: [{ cost: 1, took: 1 }],
    retries: 1,
    ...one(...CALLS),
  }),
  setup('2 jobs, quotas and one place, settled, killed', { ...TOKENS, ...EVERYTHING, ...one('kill') }),
  setup('2 jobs, costs', { jobs: [{ cost: 1 }, { cost: 2 }], retries: 1, ...one('stop', 'rollback') }),
  setup('2 jobs, limits, processes', { jobs: jobs(2), limits: LIMITS, ...one(...PROCESSES) }),
  setup('2 jobs, deadlines, calls and processes', {
    jobs: DEADLINES,
    retries: 1,
    ...one(...CALLS, ...PROCESSES),
  }),
  setup('2 jobs, forgotten ids, calls and processes', {
    jobs: jobs(2),
    keep: 0,
    reuses: 1,
    ...one(...CALLS, ...PROCESSES),
  }),
  setup('1 job, any two faults', {
    jobs: jobs(1),
    retries: 1,
    durations: { ...SMALL, lease: LEAST_LEASE },
    faults: 2,
    kinds: [...CALLS, ...BULLMQ, ...PROCESSES, 'outage', 'restart'],
  }),
]

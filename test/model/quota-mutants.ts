import { SMALL } from './durations.ts'
import type { Mutant } from './mutant.ts'
import { ROUTES } from './routes.ts'

const ONE = [{ cost: 1 }]
const TWO = [{ cost: 1 }, { cost: 1 }]
const stopped = { faults: 1, kinds: ['stop'] } as const
const FAST = { capacity: 3, interval: 1, tolerance: 0 }
const rolledBack = { faults: 1, kinds: ['rollback'] } as const
const ONE_IN_THREE = { limits: [{ ...FAST, quotas: [{ amount: 1, window: 3 }] }], lookAhead: 3 }
/** Jobs that are estimated at two tokens and take one. */
const THRIFTY = [{ cost: 1, took: 1 }]

/** Ways in which quotas and their settling could be weaker than they are. */
export const QUOTA_MUTANTS = {
  'quota-read-before': {
    what: 'the room in a quota is read in one step and charged in another, outside of a script',
    law: 'L10 quota',
    setup: { jobs: TWO, ...ONE_IN_THREE },
    patch: {
      script: 'gate',
      from: 'earliest, due = usage.due_at(',
      to: 'local _ = usage.due_at(',
    },
  },
  'charge-not-given-back': {
    what: 'an attempt that never started keeps its charge',
    law: 'L10 charged for nothing',
    setup: { jobs: ONE, ...ONE_IN_THREE, givesBack: true },
    patch: {
      script: 'finish',
      from: 'if usage.of(bucket) then usage.charge_slot(bucket, -1) end\n  bucket.next',
      to: 'bucket.next',
    },
  },
  'charge-stays-at-slot': {
    what: 'a start counts at its slot and not when it began',
    law: 'L10 quota',
    setup: { jobs: ONE, retries: 1, ...ONE_IN_THREE, durations: { ...SMALL, farthest: 2 }, ...stopped },
    patch: {
      script: 'start',
      from: 'not usage.is_same_time(parts, bucket.grantedSlot, at)',
      to: 'false',
    },
  },
  'lost-attempt-is-refunded': {
    what: 'an attempt whose worker is lost gets its charge back',
    law: 'L10 quota',
    setup: {
      jobs: ONE,
      limits: [{ ...FAST, quotas: [{ amount: 1, window: 8 }] }],
      lookAhead: 3,
      faults: 1,
      kinds: ['stop'],
    },
    patch: {
      script: 'recover',
      from: 'state.crashes = state.crashes + 1\n  if',
      to: 'if bucket.parts then usage.charge(bucket, usage.charges_of(bucket.parts, state.id, state.cost), state.departedAt, -1) end\n  state.crashes = state.crashes + 1\n  if',
    },
  },
  'loss-not-counted': {
    what: 'what may be lost does not count in quotas',
    law: 'L10 quota',
    setup: { jobs: ONE, limits: [{ ...FAST, quotas: [{ amount: 1, window: 5 }] }], ...rolledBack },
    patch: {
      script: '*',
      from: '    local long_ago = (time_read or 0) - LONGEST\n',
      to: '    local long_ago = INF\n    bucket.isUseChanged = true\n',
    },
  },
  'lost-tokens-of-each': {
    what: 'what may be lost counts what the limit says of a job, though jobs named more',
    law: 'L10 quota',
    setup: {
      jobs: [{ cost: 1, tokens: 2 }],
      // No second one starts in the time that may be lost.
      limits: [{ ...FAST, interval: 4, quotas: [{ amount: 3, window: 8, each: 1 }] }],
      ...rolledBack,
    },
  },
  'settle-without-fence': {
    what: 'an attempt that was lost settles what the next one is charged',
    law: 'L10 charged for nothing',
    setup: {
      jobs: THRIFTY,
      retries: 1,
      limits: [{ ...FAST, quotas: [{ amount: 3, window: 4, each: 2 }] }],
      lookAhead: 3,
      settles: 1,
      faults: 1,
      kinds: ['settled-late'],
    },
    patch: { script: 'settle', from: 'local is_meant = state.fence == fence', to: 'local is_meant = true' },
    route: ROUTES['settle-without-fence'],
  },
  'settled-twice': {
    what: 'an attempt that settles again has the difference once more',
    law: 'L10 quota',
    setup: {
      jobs: [...THRIFTY, ...THRIFTY],
      limits: [{ ...FAST, quotas: [{ amount: 2, window: 4, each: 2 }] }],
      lookAhead: 3,
      settles: 2,
    },
    patch: { script: 'settle', from: 'and not state.isSettled then', to: 'then' },
  },
} as const satisfies Readonly<Record<string, Mutant>>

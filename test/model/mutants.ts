import { SMALL } from './durations.ts'
import type { Mutant } from './mutant.ts'
import { QUOTA_MUTANTS } from './quota-mutants.ts'
import { ROUTES } from './routes.ts'

const ONE = [{ cost: 1 }]
const TWO = [{ cost: 1 }, { cost: 1 }]
const stopped = { faults: 1, kinds: ['stop'] } as const
const doubled = { faults: 1, kinds: ['doubled'] } as const
const outage = { faults: 1, kinds: ['outage'] } as const
const rolledBack = { faults: 1, kinds: ['rollback'] } as const
/** A lease that can end while a slot is still good: else the look at the time would do. */
const SHORT_LEASES = { ...SMALL, farthest: 2, lease: 2 }
/** More may be handed over than there are places for. */
const ONE_PLACE = { limits: [{ capacity: 3, interval: 1, tolerance: 0, places: 1 }], lookAhead: 3 }
const EPOCH = 'state.epoch ~= epoch'

/** Ways in which the protocol could be weaker than it is: switches of the model. */
const TABLE = {
  'gate-without-epoch': {
    what: 'the gate does not compare the epoch',
    law: 'L8 start without a lease',
    setup: { jobs: ONE, ...stopped },
    patch: { script: 'gate', from: `if ${EPOCH} or not is_mine then`, to: 'if not is_mine then' },
  },
  'finish-without-epoch': {
    what: 'the end of a job is taken from a worker that has lost it',
    law: 'fenced-out end',
    setup: { jobs: ONE, ...stopped },
    patch: { script: 'finish', from: `if not state or ${EPOCH} then`, to: 'if not state then' },
    route: ROUTES['finish-without-epoch'],
  },
  'start-without-epoch': {
    what: 'the report of a start is taken from a worker that has lost the job',
    law: 'L8 start without a lease',
    setup: { jobs: ONE, ...stopped },
    patch: { script: 'start', from: `or ${EPOCH} or`, to: 'or' },
    route: ROUTES['start-without-epoch'],
  },
  'renew-without-epoch': {
    what: 'a worker that has lost a job renews the lease of the one that has it',
    law: 'fenced-out renewal',
    setup: { jobs: ONE, ...stopped },
    patch: { script: 'renew', from: 'state.epoch == epoch and HELD', to: 'epoch ~= 0 and HELD' },
  },
  'back-without-epoch': {
    what: 'a job is given back without comparing the epoch',
    law: 'L8 start without a lease',
    setup: { jobs: ONE, ...stopped, givesBack: true },
    patch: { script: 'finish', from: `or ${EPOCH} then`, to: `or outcome ~= 'back' and ${EPOCH} then` },
  },
  'back-without-worker': {
    what: 'a job is given back by a worker that does not have its slot',
    law: 'L8 start without a lease',
    setup: { jobs: ONE, ...doubled, givesBack: true },
    patch: {
      script: 'finish',
      from: "if state.state == 'granted' and state.worker ~= said then",
      to: 'if false then',
    },
    route: ROUTES['back-without-worker'],
  },
  'no-late-look': {
    what: 'the last look does not see that it is late',
    law: 'freeze',
    setup: { jobs: ONE, ...stopped, freezes: 1 },
  },
  'no-lease-look': {
    what: 'the last look does not see that the lease is over',
    law: 'L8 start without a lease',
    setup: { jobs: ONE, ...stopped, durations: SHORT_LEASES },
  },
  'gate-in-two-steps': {
    what: 'the gate reads in one step and writes in another, outside of a script',
    law: 'L8 start without a lease',
    setup: { jobs: ONE, ...doubled },
  },
  'capacity-read-before': {
    what: 'a producer reads how many wait, and then puts its job into the line',
    law: 'L1 bound',
    setup: { jobs: TWO, limits: [{ capacity: 1, interval: 2, tolerance: 0 }] },
    patch: {
      script: 'admit',
      from: 'local excess = bucket.waiting + cost',
      to: 'local excess = bucket.waiting',
    },
  },
  'epochs-from-one': {
    what: 'epochs start again at 1 when a job was forgotten',
    law: 'epoch used again',
    setup: { jobs: ONE, ...stopped, keep: 0, reuses: 1 },
    patch: { script: 'claim', from: "next_stamp(meta, 'epoch', now)", to: 'state.epoch + 1' },
  },
  'fence-counts': {
    what: 'fences are counted, and go back with the data',
    law: 'fence',
    setup: { jobs: ONE, ...rolledBack },
  },
  'leases-not-lifted': {
    what: 'leases are not extended after an outage',
    law: 'L5 one start too many',
    setup: { jobs: ONE, ...outage },
    patch: { script: '*', from: 'meta.lifted = meta.lifted + lift', to: 'lift = 0' },
  },
  'recovers-before-lifting': {
    what: 'jobs are taken back before the leases are extended',
    law: 'L5 one start too many',
    setup: { jobs: ONE, ...outage },
    patch: {
      script: 'recover',
      from: 'local meta = read_meta()\nnote_activity(meta, now)',
      to: 'local meta = read_meta()',
    },
  },
  'retry-behind-line': {
    what: 'a retry goes behind the line',
    law: 'retry keeps its place',
    setup: { retries: 1 },
    patch: {
      script: 'finish',
      from: "wait_again(bucket, state, 'retry', ready_at, '')",
      to: "wait_again(bucket, state, 'back', -INF, '')",
    },
  },
  'cancels-departed': {
    what: 'a cancellation does not look at what the job does',
    law: 'L5 it ended, and starts',
    setup: { jobs: ONE, cancels: 1 },
    patch: {
      script: 'cancel',
      from: 'if not WAITS[state.state] and not is_granted then',
      to: "is_granted = state.state == 'granted'\nif not WAITS[state.state] and not is_granted then",
    },
  },
  'expires-granted': {
    what: 'a job expires that has its slot',
    law: 'L5 it ended, and starts',
    setup: { jobs: [{ cost: 1, deadline: 0 }], ...stopped },
    patch: { script: 'expire', from: "bucket and state.state == 'granted' then", to: 'false then' },
  },
  'short-quarantine': {
    what: 'after a loss a bucket waits half as long',
    law: 'L2 spacing',
    setup: { jobs: ONE, retries: 1, lookAhead: 1, ...rolledBack },
    patch: { script: 'gate', from: 'local until_ = since + gap', to: 'local until_ = since + gap / 2' },
  },
  'quarantine-of-one': {
    what: 'after a loss a bucket waits for the interval of a job of cost 1',
    law: 'L2 spacing',
    setup: { jobs: [{ cost: 2 }], retries: 1, lookAhead: 1, ...rolledBack },
    patch: {
      script: '*',
      from: 'loss.note(meta, now, math.max(1, meta.costliest))',
      to: 'loss.note(meta, now, 1)',
    },
  },
  'lost-slot-forgotten': {
    what: 'after a loss a bucket does not wait for a slot that was granted before',
    law: 'L2 spacing',
    setup: { jobs: ONE, retries: 1, lookAhead: 1, ...rolledBack },
    patch: {
      script: 'gate',
      from: '2 * FARTHEST_SLOT + gap_after(bucket, meta.lostCost)',
      to: 'gap_after(bucket, meta.lostCost)',
    },
  },
  'no-quarantine': {
    what: 'a loss is not noticed',
    law: 'L2 spacing',
    setup: { jobs: ONE, ...rolledBack },
    patch: {
      script: 'gate',
      from: 'local meta = read_meta()',
      to: 'local meta = read_meta()\nmeta.lostAt = 0',
    },
  },
  'no-window': {
    what: 'a claim hands over all that is due',
    law: 'window',
    setup: { jobs: TWO, lookAhead: 2 },
    patch: {
      script: 'claim',
      from: 'if bucket.inHanded >= bucket.window then',
      to: 'if bucket.inHanded >= 16 then',
    },
  },
  'delivery-id-without-epoch': {
    what: 'the id of a delivery does not hold the epoch',
    law: 'L5 not delivered',
    setup: { jobs: ONE, ...stopped },
  },
  'late-slot-kept': {
    what: 'a start that came late keeps its slot, which is not burned',
    law: 'L2 spacing',
    setup: { jobs: TWO, ...stopped },
    patch: {
      script: 'start',
      from: 'if not state.onGrid or at - slot > tolerated then',
      to: 'if false then',
    },
  },
  'gate-ignores-freeze': {
    what: 'the gate does not look at the freeze',
    law: 'freeze',
    setup: { jobs: ONE, freezes: 1 },
    patch: {
      script: 'gate',
      from: 'local due = math.max(bucket.from, bucket.next, bucket.frozen, state.floor)',
      to: 'bucket.frozen = 0\n  local due = math.max(bucket.from, bucket.next, bucket.frozen, state.floor)',
    },
  },
  'gate-any-order': {
    what: 'the gate does not ask whether the job is the first',
    law: 'L4 order',
    setup: { jobs: TWO, lookAhead: 4 },
    patch: {
      script: 'gate',
      from: "bucket.isBehind = is_of_first and parse_member(first or '') ~= id",
      to: "bucket.isBehind = is_of_first and bucket.granted ~= '' and bucket.granted ~= id",
    },
  },
  'lost-grant-is-free': {
    what: 'a job that had its slot when its lease ended counts as not started',
    law: 'L5 one start too many',
    setup: { jobs: ONE, ...stopped },
    patch: {
      script: 'recover',
      from: "if state.state == 'handed' then\n    if is_caller then",
      to: "if state.state == 'handed' or state.state == 'granted' then\n    if is_caller then",
    },
  },
  'nothing-taken-back': {
    what: 'jobs whose leases have ended stay with their workers',
    law: 'progress',
    setup: { jobs: ONE, faults: 1, kinds: ['dropped'] },
    patch: {
      script: 'recover',
      from: "'-inf', trusted - meta.lifted, 'LIMIT'",
      to: "'-inf', '-inf', 'LIMIT'",
    },
  },
  'places-read-before': {
    what: 'the free places are read in one step and taken in another, outside of a script',
    law: 'L11 places',
    setup: { jobs: TWO, ...ONE_PLACE },
  },
  'place-counter-leaks': {
    what: 'the places that are taken are a counter, which a crash does not count down',
    law: 'progress',
    setup: { jobs: ONE, ...ONE_PLACE, faults: 1, kinds: ['kill'] },
  },
  'place-counted-twice': {
    what: 'the places that are taken are a counter, which a repeated report counts down again',
    law: 'L11 places',
    setup: { jobs: [{ cost: 1 }, { cost: 1 }, { cost: 1 }], ...ONE_PLACE, faults: 1, kinds: ['lost'] },
  },
  'limit-forgets-slot': {
    what: 'a changed limit forgets the last slot',
    law: 'L2 spacing',
    setup: {
      jobs: TWO,
      limits: [
        { capacity: 3, interval: 3, tolerance: 0 },
        { capacity: 3, interval: 2, tolerance: 0 },
      ],
    },
  },
  ...QUOTA_MUTANTS,
} as const satisfies Readonly<Record<string, Mutant>>

export type MutantName = keyof typeof TABLE
export const MUTANTS: Readonly<Record<MutantName, Mutant>> = TABLE

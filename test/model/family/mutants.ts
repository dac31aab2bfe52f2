import type { Patch } from '../mutant.ts'
import { ALONE_WITH_QUOTA, CHANGED_TOTAL, jobsOf, TWO_LEVELS } from './configs.ts'
import type { FamilySetup } from './setup.ts'

const TWO_AND_ONE = { workers: 1, jobs: jobsOf(0, 0, 1) }

export interface FamilyMutant {
  /** What is taken out of the protocol. */
  readonly what: string
  /** The law that it breaks. */
  readonly law: string
  /** Where the checker finds that soonest. */
  readonly setup: Partial<FamilySetup>
  readonly patch: Patch
  /** The first walk that shows it beside the scripts, as walks are now. They are tried from there on. Default: 1. */
  readonly firstWalk?: number
}

const TABLE = {
  'tag-forgotten': {
    what: 'a child without work loses its tag',
    law: 'L12 tag forgotten',
    setup: TWO_AND_ONE,
    patch: {
      script: '*',
      from: 'child.standing = is_in and',
      to: 'if due == nil then child.tag = math.min(child.tag, total.virtual) end child.standing = is_in and',
    },
  },
  'newcomer-at-zero': {
    what: 'a child that is new begins with nothing',
    law: 'L12 newcomer',
    setup: TWO_AND_ONE,
    patch: {
      script: '*',
      from: 'child.tag, child.standing = math.max(child.tag, total.joining), IN',
      to: 'child.standing = IN',
    },
  },
  'burned-slot-charged': {
    what: 'an attempt that did not start keeps the tag that it moved',
    law: 'L12 charged for nothing',
    setup: { ...TWO_AND_ONE, returns: 1 },
    patch: {
      script: '*',
      from: 'child.tag = child.tag + sign * use / child.weight',
      to: 'child.tag = child.tag + math.max(0, sign) * use / child.weight',
    },
  },
  'return-joins-anew': {
    what: 'a child whose only job comes back joins as a newcomer does',
    law: 'L12 charged for nothing',
    setup: { ...TWO_AND_ONE, returns: 1 },
    patch: { script: '*', from: 'sign == -1 and child.standing == OUT', to: 'false' },
  },
  'family-freeze-not-at-gate': {
    what: 'the gate does not look at the freeze of a family',
    law: 'freeze',
    setup: { workers: 1, jobs: jobsOf(0), freezes: 1 },
    firstWalk: 48,
    patch: {
      script: 'gate',
      from: 'due = math.max(due, total.next, total.frozen, ',
      to: 'due = math.max(due, total.next, ',
    },
  },
  'family-pause-at-claim-only': {
    what: 'the gate does not look at the pause of a family',
    law: 'pause',
    setup: { workers: 1, jobs: jobsOf(0), pauses: 1 },
    firstWalk: 14,
    patch: { script: 'gate', from: 'if total.paused == 1 or usage.is_full(', to: 'if usage.is_full(' },
  },
  'pause-forgotten': {
    what: 'a family that is paused is forgotten when nothing is below it, and with it the pause',
    law: 'pause',
    setup: { workers: 1, jobs: jobsOf(0), pauses: 1 },
    firstWalk: 61,
    patch: {
      script: '*',
      from: 'total.children > 0 or total.paused == 1 then',
      to: 'total.children > 0 then',
    },
  },
  'family-limit-forgets-start': {
    what: 'a changed limit of a family forgets the last start below it',
    law: 'L2 spacing of a total',
    setup: CHANGED_TOTAL,
    firstWalk: 11,
    patch: {
      script: '*',
      from: 'bucket.next = math.max(from_slot, bucket.lastStart',
      to: 'bucket.next = bucket.isTotal and -INF or math.max(from_slot, bucket.lastStart',
    },
  },
  'family-limit-kept': {
    what: 'a family that lives keeps its limit when that is changed',
    law: 'L2 spacing of a total',
    setup: CHANGED_TOTAL,
    patch: { script: '*', from: 'if total.book < book then', to: 'if false then' },
  },
  'family-quota-not-at-gate': {
    what: 'the quota of a family is looked at by the claim alone',
    law: 'L10 quota of a total',
    setup: { ...ALONE_WITH_QUOTA, lookAhead: 3 },
    firstWalk: 50,
    patch: {
      script: 'gate',
      from: 'charges[index] = select(2, family.use_of(total, job.id, job.cost))',
      to: 'charges[index] = nil',
    },
  },
  'family-quota-not-given-back': {
    what: 'an attempt that never started keeps what it was charged in the quota of a family',
    law: 'L10 charged for nothing',
    setup: { ...ALONE_WITH_QUOTA, returns: 1 },
    patch: {
      script: '*',
      from: 'usage.discharge(total, charges, member.counted[index], member.stamp) end\n        family.count_handed',
      to: 'end\n        family.count_handed',
    },
  },
  'parent-not-enforced': {
    what: 'the gate asks the innermost total alone',
    law: 'L2 spacing of a total',
    setup: TWO_LEVELS,
    patch: {
      script: '*',
      from: 'due = math.max(due, total.next, total.frozen, ',
      to: 'if index == 1 then due = math.max(due, total.next, total.frozen) end due = math.max(due, ',
    },
  },
} as const satisfies Readonly<Record<string, FamilyMutant>>

export type FamilyMutantName = keyof typeof TABLE
export const FAMILY_MUTANTS: Readonly<Record<FamilyMutantName, FamilyMutant>> = TABLE

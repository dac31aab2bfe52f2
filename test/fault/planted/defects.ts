import { MENDED } from '../../sim/mutants/mended.ts'
import type { Mutant } from '../../sim/mutants/mutant.ts'
import { TOTALS } from '../../sim/mutants/totals.ts'

/** A defect that was mended, and the campaign or test that finds it when its mend is taken out. */
export interface PlantedDefect extends Pick<Mutant, 'name' | 'what' | 'edits'> {
  /** Its number in test/fault/README.md. */
  readonly number: string
  /** From the root of the checkout. */
  readonly foundBy: string
}

function known(name: string): Pick<Mutant, 'name' | 'what' | 'edits'> {
  const mutant = [...MENDED, ...TOTALS].find((mutant) => mutant.name === name)
  if (mutant === undefined) throw new Error(`expected the name of a defect, got: ${name}`)
  return mutant
}

export const DEFECTS: readonly PlantedDefect[] = [
  {
    number: '2',
    name: 'no-second-look',
    what: 'a handler goes on though its process stood still between the last look at the clock and the call',
    edits: [
      {
        file: 'src/redis/worker/job-start.ts',
        find: '    const reason = this.#reasonToStop(now)\n',
        replace: '    const reason = undefined as Error | undefined\n',
      },
      {
        file: 'src/redis/worker/job-start.ts',
        find: '      return reason\n    })\n',
        replace: '      return undefined\n    })\n',
      },
    ],
    foundBy: 'test/unit/redis/worker/redis-worker-late-starts.test.ts',
  },
  {
    number: '4',
    name: 'one-key-of-a-shard',
    what: 'scripts name only the tag of their shard, which is never a key, and run on a slot of which half has moved',
    edits: [
      {
        file: 'src/redis/scripts/script.ts',
        find: '  const keys = isOfShard ? keysOfShard(key) : [key]\n',
        replace: '  const keys = [key]\n',
      },
    ],
    foundBy: 'test/integration/cluster-resharding.test.ts',
  },
  {
    number: '5',
    name: 'looks-at-the-whole-line',
    what: 'a refusal looks at all jobs of the line one by one',
    edits: [
      {
        file: 'src/core/projection.ts',
        find: 'export const FARTHEST_LOOK = 100',
        replace: 'export const FARTHEST_LOOK = 1e9',
      },
    ],
    foundBy: 'test/bounds/growth.test.ts',
  },
  {
    number: '6',
    name: 'large-data-in-the-answer',
    what: 'the gate answers with the data of all jobs, however large',
    edits: [
      {
        file: 'src/redis/scripts/lib/job.lua',
        find: 'local LARGE = 4096\n',
        replace: 'local LARGE = 1e9\n',
      },
    ],
    foundBy: 'test/integration/large-data.test.ts',
  },
  { number: '7', ...known('leases-end-in-silence'), foundBy: 'test/conformance/redis-silence.test.ts' },
  { number: '8', ...known('epochs-from-one'), foundBy: 'test/conformance/redis-leases.test.ts' },
  {
    number: '9',
    name: 'one-list-for-a-line',
    what: 'a job deep in a line is removed by looking through the line',
    edits: [
      {
        file: 'src/redis/scripts/lib/blocks.lua',
        find: 'local BLOCK = 256\n',
        replace: 'local BLOCK = 1e9\n',
      },
    ],
    foundBy: 'test/conformance/redis-deep-lines.test.ts',
  },
  {
    number: '10',
    name: 'no-bound-for-a-bucket',
    what: 'a bucket has as many jobs handed over as are due within the look-ahead',
    edits: [
      {
        file: 'src/redis/scripts/lib/rounds.lua',
        find: 'local MOST_HANDED = 16\n',
        replace: 'local MOST_HANDED = 100000\n',
      },
    ],
    foundBy: 'test/conformance/redis-claim.test.ts',
  },
  { number: '11', ...known('quarantine-of-a-minute'), foundBy: 'test/conformance/redis-losses.test.ts' },
  { number: '11', ...known('quarantine-of-one-unit'), foundBy: 'test/conformance/redis-losses.test.ts' },
  {
    number: '11',
    ...known('no-quarantine-when-empty'),
    foundBy: 'test/conformance/redis-losses.test.ts',
  },
  { number: '12', ...known('small-steps-unnoticed'), foundBy: 'test/unit/redis/redis-runtime.test.ts' },
  { number: '13', ...known('fence-goes-back'), foundBy: 'test/conformance/redis-leases.test.ts' },
  { number: '14a', ...known('one-way-delay'), foundBy: 'test/fault/asymmetric-network.test.ts' },
  {
    number: '14b',
    ...known('set-back-clock-keeps-leases'),
    foundBy: 'test/conformance/redis-silence.test.ts',
  },
  {
    number: 'set-1',
    name: 'place-leaks',
    what: 'a job whose lease has ended comes back, and the place that it had does not',
    edits: [
      {
        file: 'src/redis/verbs/recover.lua',
        find: '  bucket.running = bucket.running - 1\n  state.crashes',
        replace: '  state.crashes',
      },
    ],
    foundBy: 'test/conformance/redis-quotas.test.ts',
  },
  {
    number: 'set-2',
    name: 'settles-twice',
    what: 'a start that was settled may be settled again',
    edits: [
      {
        file: 'src/redis/scripts/lib/settling.lua',
        find: '  state.isSettled = true\n',
        replace: '',
      },
    ],
    foundBy: 'test/conformance/redis-quotas.test.ts',
  },
  { number: 'total-1', ...known('newcomer-at-zero'), foundBy: 'test/conformance/total-shares.test.ts' },
  { number: 'total-2', ...known('burned-slot-charged'), foundBy: 'test/conformance/total-shares.test.ts' },
  { number: 'total-3', ...known('parent-not-enforced'), foundBy: 'test/conformance/total-shares.test.ts' },
  {
    number: 'total-4',
    name: 'tag-forgotten',
    what: 'a child whose line is empty for a moment begins anew with its next job, as if it had had nothing',
    edits: [
      {
        file: 'src/redis/scripts/lib/share.lua',
        find: '    child.standing = is_in and IN or due ~= nil and FROZEN or OUT\n',
        replace:
          '    child.standing = is_in and IN or due ~= nil and FROZEN or OUT\n    if child.standing == OUT then child.tag = 0 end\n',
      },
    ],
    foundBy: 'test/conformance/total-shares.test.ts',
  },
]

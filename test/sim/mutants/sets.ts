import type { Mutant } from './mutant.ts'

const VERBS = 'src/redis/verbs'
const LIB = 'src/redis/scripts/lib'

/** What limits that are sets are got wrong by elsewhere, each in a line or two of a script. */
export const SETS: readonly Mutant[] = [
  {
    name: 'quota-checked-elsewhere',
    subject: 'quotas',
    what: 'a quota is asked before a job is handed over, and charged with its slot: what is under way is in neither',
    edits: [
      {
        file: `${LIB}/due.lua`,
        find: '  local together = {}\n',
        replace:
          '  local together = {}\n  if parts then return usage.room_at(parts, use, handed.charges, slot) end\n',
      },
      {
        file: `${LIB}/grant.lua`,
        find: '    earliest, due = usage.due_at(bucket, usage.charges(parts, job.cost, job.settings), due, earliest)\n',
        replace: '',
      },
    ],
  },
  {
    name: 'place-as-a-counter',
    subject: 'places',
    what: 'a place is a number that goes up and down, and a job whose worker died never gives it back',
    edits: [
      {
        file: `${VERBS}/recover.lua`,
        find: '  bucket.running = bucket.running - 1\n  state.crashes = state.crashes + 1\n',
        replace: '  state.crashes = state.crashes + 1\n',
      },
    ],
  },
  {
    name: 'settle-without-fence',
    subject: 'settling',
    what: 'an attempt that lost its job settles the start of the one that runs',
    edits: [
      {
        file: `${VERBS}/settle.lua`,
        find: 'local is_meant = state.fence == fence\n',
        replace: 'local is_meant = fence ~= nil\n',
      },
    ],
  },
  {
    name: 'settled-twice',
    subject: 'quotas',
    what: 'a start is settled as often as its handler asks',
    edits: [
      {
        file: `${VERBS}/settle.lua`,
        find: "(state.state == 'running' or may_start) and not state.isSettled then",
        replace: "(state.state == 'running' or may_start) then",
      },
    ],
  },
]

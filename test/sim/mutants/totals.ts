import type { Mutant } from './mutant.ts'

const LIB = 'src/redis/scripts/lib'

/** What totals, and fair shares of them, are got wrong by elsewhere. */
export const TOTALS: readonly Mutant[] = [
  {
    name: 'newcomer-at-zero',
    subject: 'newcomers',
    seeds: 10,
    what: 'a child that is new begins with nothing, and gets all until it has had as much as the others',
    edits: [
      {
        file: `${LIB}/share.lua`,
        find: 'child.tag, child.standing = math.max(child.tag, total.joining), IN',
        replace: 'child.standing = IN',
      },
      {
        file: `${LIB}/places.lua`,
        find: 'math.max(tag, total.virtual - total.largest)',
        replace: 'tag',
      },
    ],
  },
  {
    name: 'burned-slot-charged',
    subject: 'slots given up',
    what: 'a slot that was given up still counts in the quota of its total',
    edits: [
      {
        file: `${LIB}/under.lua`,
        find: '        if charges then usage.discharge(total, charges, member.counted[index], member.stamp) end\n        family.count_handed',
        replace: '        family.count_handed',
      },
    ],
  },
  {
    name: 'parent-not-enforced',
    subject: 'nested totals',
    what: 'the gate asks the innermost total alone',
    edits: [
      {
        file: `${LIB}/under.lua`,
        find: '      due = math.max(due, total.next, total.frozen, ',
        replace:
          '      if index == 1 then due = math.max(due, total.next, total.frozen) end due = math.max(due, ',
      },
    ],
  },
  {
    name: 'slots-out-forgotten',
    subject: 'clock above slots',
    what: 'after a move of the clock a total does not wait for slots that a worker which has not noticed may still use',
    edits: [
      {
        file: `${LIB}/under.lua`,
        find: 'allow_for_clock(total, meta, now, total.grantedCost - family.granted_cost_of(bucket))',
        replace: 'allow_for_clock(total, meta, now)',
      },
    ],
  },
  {
    name: 'fence-granted-anew',
    subject: 'passing totals',
    what: 'a job of a run that asks for its slot below a total gets a new fence, and those behind it keep theirs',
    edits: [
      {
        file: 'src/redis/verbs/gate.lua',
        find: '    later.write_state(state)\n    later.write(bucket)\n',
        replace:
          "    if bucket.member then state.fence = next_stamp(meta, 'fence', now) end\n    later.write_state(state)\n    later.write(bucket)\n",
      },
    ],
  },
  {
    name: 'wait-without-shares',
    subject: 'promised waits',
    seeds: 10,
    what: 'the longest wait that a job is promised counts only its own units, and not the shares of others',
    edits: [
      {
        file: `${LIB}/above.lua`,
        find: '(units + total.handed) * total.interval',
        replace: 'total.interval',
      },
    ],
  },
  {
    name: 'waits-beside-withheld-handlers',
    subject: 'slow handlers',
    what: 'a job from which free handlers are withheld waits for a second in its worker, though another worker may have one for it',
    edits: [
      {
        file: 'src/redis/slots/handler-patience.ts',
        find: 'isToRest || this.#shares.free > 0 || ',
        replace: 'isToRest || ',
      },
    ],
  },
  {
    name: 'settled-by-default',
    subject: 'late settling',
    what: 'what a turn that has ended was charged in totals is taken for what the unit counts by default',
    edits: [
      {
        file: `${LIB}/begun.lua`,
        find: '(state.settings or usage.settings_of(state.id))',
        replace: 'usage.settings_of(state.id)',
      },
    ],
  },
]

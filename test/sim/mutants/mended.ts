import type { Mutant } from './mutant.ts'

const VERBS = 'src/redis/verbs'
const LIB = 'src/redis/scripts/lib'

/** Defects of the shared line that were found by reading and by experiments, and mended: each with its mend taken out. */
export const MENDED: readonly Mutant[] = [
  {
    name: 'leases-end-in-silence',
    subject: 'outage',
    what: 'leases run out while no worker reaches Redis, and their jobs start twice though no process failed',
    edits: [
      {
        file: `${LIB}/lease.lua`,
        find: '  if meta.heardAt ~= 0 and (grace or gap > SILENCE or gap < 0) then',
        replace: '  if meta.heardAt ~= 0 and (grace or gap < 0) then',
      },
    ],
  },
  {
    name: 'outcomes-dropped',
    subject: 'long outage',
    what: 'a worker gives up what it has to report when Redis was away for a minute longer than a lease',
    edits: [
      {
        file: 'src/redis/slots/leases.ts',
        find: 'this.#patience = ports.patience ?? Number.POSITIVE_INFINITY',
        replace: 'this.#patience = ports.patience ?? 60_000_000',
      },
    ],
  },
  {
    name: 'no-grace-after-a-restart',
    subject: 'restart',
    what: 'leases end before workers have found Redis again after its restart',
    edits: [
      {
        file: `${LIB}/lease.lua`,
        find: "  note_activity(meta, now, meta.run ~= '' and RESTART_GRACE)",
        replace: '  note_activity(meta, now)',
      },
    ],
  },
  {
    name: 'epochs-from-one',
    subject: 'ids again',
    what: 'a job that gets the id of a forgotten one gets its epochs, too, and a worker of before ends it',
    edits: [
      {
        file: `${VERBS}/claim.lua`,
        find: "state, next_stamp(meta, 'epoch', now))",
        replace: 'state, state.epoch + 1)',
      },
    ],
  },
  {
    name: 'quarantine-of-a-minute',
    subject: 'loss at a slow rate',
    what: 'after a failover a bucket waits a minute at most, though its interval is longer',
    edits: [
      {
        file: `${LIB}/grant.lua`,
        find: '2 * FARTHEST_SLOT + gap_after(bucket, meta.lostCost), now)',
        replace: 'math.min(60000000, gap_after(bucket, meta.lostCost)), now)',
      },
    ],
  },
  {
    name: 'quarantine-of-one-unit',
    subject: 'loss',
    what: 'after a restart that lost the last starts a bucket waits as if they had cost 1',
    edits: [
      {
        file: `${LIB}/lease.lua`,
        find: "  if meta.run ~= '' then loss.note(meta, now, math.max(1, meta.costliest)) end",
        replace: "  if meta.run ~= '' then loss.note(meta, now, 1) end",
      },
    ],
  },
  {
    name: 'no-quarantine-after-a-restart',
    subject: 'loss',
    what: 'after a restart that lost the last starts no bucket waits',
    edits: [
      {
        file: `${LIB}/lease.lua`,
        find: "  if meta.run ~= '' then loss.note(meta, now, math.max(1, meta.costliest)) end",
        replace: '',
      },
    ],
  },
  {
    name: 'no-quarantine-when-empty',
    subject: 'loss',
    what: 'no bucket waits after a restart that came back with nothing',
    edits: [
      {
        file: `${LIB}/lease.lua`,
        find: "  if known ~= '' and meta.name ~= known then loss.note(meta, now) end\n",
        replace: '',
      },
      {
        file: 'src/redis/rules/book.lua',
        find: "if meta.book == 0 and ARGV[7] == '1' then loss.note(meta, now) end\n",
        replace: '',
      },
    ],
  },
  {
    name: 'small-steps-unnoticed',
    subject: 'clock',
    what: 'after a small step of the clock of Redis a new worker is ahead of the old ones',
    edits: [
      {
        file: 'src/redis/redis-runtime.ts',
        find: "  else if (by > 0) await verbs.quarantine(shard, undefined, 'step', by)\n",
        replace: '',
      },
    ],
  },
  {
    name: 'jumps-unnoticed',
    subject: 'clock',
    what: 'no bucket waits after a jump of the clock of Redis',
    edits: [
      {
        file: 'src/redis/redis-runtime.ts',
        find: "  if (Math.abs(by) > LONGEST_STEP) await verbs.quarantine(shard, undefined, 'jump', by)\n  else if (by > 0)",
        replace: '  if (by > 0 && by <= LONGEST_STEP)',
      },
    ],
  },
  {
    name: 'fence-goes-back',
    subject: 'loss',
    what: 'a restart that lost the last writes gives out fences that were given out before',
    edits: [
      {
        file: `${LIB}/shard.lua`,
        find: '  meta[name] = math.max(meta[name] + 1, math.floor(now))\n',
        replace: '  meta[name] = meta[name] + 1\n',
      },
      {
        file: `${LIB}/loss.lua`,
        find: 'meta.fence, meta.epoch = above_lost(meta, meta.fence, now), above_lost',
        replace: 'meta.epoch = above_lost',
      },
    ],
  },
  {
    name: 'one-way-delay',
    subject: 'ways',
    what: 'where one way to Redis is slower than the other, starts are early by half of the difference',
    edits: [
      {
        file: 'src/redis/slots/start-window.ts',
        find: '    return Math.max(0, error - allowedFor(this.#grant) / 2)',
        replace: '    return 0',
      },
    ],
  },
  {
    name: 'set-back-clock-keeps-leases',
    subject: 'clock set back',
    what: 'a clock that is set back keeps the leases of dead workers and freezes by as much',
    edits: [
      {
        file: `${LIB}/lease.lua`,
        find: '    local lift = gap + (grace or 0)\n',
        replace: '    local lift = math.max(0, gap) + (grace or 0)\n',
      },
    ],
  },
]

import type { Mutant } from './mutant.ts'

const VERBS = 'src/redis/verbs'
const LIB = 'src/redis/scripts/lib'

/** Breaches of the protocol, each in a line or two of a script or of a worker. */
export const PROTOCOL: readonly Mutant[] = [
  {
    name: 'early-slot',
    subject: 'line',
    what: 'the gate lets a job start before its interval is over',
    edits: [
      {
        file: `${LIB}/pace.lua`,
        find: '  local step = wait + carry\n',
        replace: '  local step = wait * 0.8 + carry\n',
      },
      {
        file: `${LIB}/grant.lua`,
        find: 'bucket.lastStart + usage.EVEN * spacing_after_start(bucket))',
        replace: 'bucket.lastStart + 0.7 * spacing_after_start(bucket))',
      },
    ],
  },
  {
    name: 'full-line-admits',
    subject: 'line',
    what: 'a line admits one unit more than its capacity',
    edits: [
      {
        file: `${LIB}/verdict.lua`,
        find: 'local excess = bucket.waiting + cost - bucket.capacity\n',
        replace: 'local excess = bucket.waiting + cost - bucket.capacity - 1\n',
      },
    ],
  },
  {
    name: 'retry-lost',
    subject: 'line',
    what: 'a job that failed is not put back into its line',
    edits: [
      {
        file: `${LIB}/leave.lua`,
        find: '  count_returned(bucket, kind, state.cost)\n  put_back(bucket, member_of(state), state)\n',
        replace: '  count_returned(bucket, kind, state.cost)\n',
      },
    ],
  },
  {
    name: 'no-epoch-check-at-the-gate',
    subject: 'stale deliveries',
    what: 'the gate lets a delivery of an earlier handover start',
    edits: [
      {
        file: `${VERBS}/gate.lua`,
        find: 'if state.epoch ~= epoch or not is_mine then',
        replace: 'if not is_mine then',
      },
    ],
  },
  {
    name: 'no-owner-check-at-the-gate',
    subject: 'slots of others',
    what: 'a job that one worker was granted is granted to another, too',
    edits: [
      {
        file: `${VERBS}/gate.lua`,
        find: "(state.state == 'granted' and state.worker == worker)",
        replace: "state.state == 'granted'",
      },
      {
        file: `${VERBS}/gate.lua`,
        find: 'if state.epoch ~= epoch or not is_mine then',
        replace: "if (state.epoch ~= epoch and state.state ~= 'granted') or not is_mine then",
      },
    ],
  },
  {
    name: 'no-epoch-check-at-the-finish',
    subject: 'zombies',
    what: 'a worker that lost its lease ends the job that another one runs',
    edits: [
      {
        file: `${VERBS}/finish.lua`,
        find: "if not state or state.epoch ~= epoch then return '0' end",
        replace: "if not state then return '0' end",
      },
    ],
  },
  {
    name: 'recovered-to-the-tail-of-nothing',
    subject: 'deaths',
    what: 'a job whose worker died is not put back into its line',
    edits: [
      {
        file: `${VERBS}/recover.lua`,
        find: "  wait_again(bucket, state, 'back', -INF, '')\n",
        replace: '  write_state(state)\n',
      },
    ],
  },
  {
    name: 'order-not-kept',
    subject: 'line',
    what: 'the gate grants a job whose predecessor has not come yet',
    edits: [
      {
        file: `${LIB}/lookup.lua`,
        find: "bucket.isBehind = is_of_first and parse_member(first or '') ~= id",
        replace: "bucket.isBehind = is_of_first and bucket.granted ~= '' and bucket.granted ~= id",
      },
    ],
  },
  {
    name: 'cancel-of-a-granted-job',
    subject: 'operator',
    what: 'a job that was granted a slot can be cancelled, and starts all the same',
    edits: [
      {
        file: `${LIB}/leave.lua`,
        find: 'local WAITS = { waiting = true, retrying = true, handed = true }',
        replace: 'local WAITS = { waiting = true, retrying = true, handed = true, granted = true }',
      },
    ],
  },
  {
    name: 'freeze-not-kept',
    subject: 'operator',
    what: 'a freeze does not hold back the slots of a bucket',
    edits: [
      {
        file: `${LIB}/pace.lua`,
        find: '  return math.max(now, bucket.next, bucket.frozen)\n',
        replace: '  return math.max(now, bucket.next)\n',
      },
      {
        file: `${LIB}/grant.lua`,
        find: 'local due = math.max(bucket.from, bucket.next, bucket.frozen, state.floor)',
        replace: 'local due = math.max(bucket.from, bucket.next, state.floor)',
      },
    ],
  },
  {
    name: 'replay-admits-twice',
    subject: 'requests',
    what: 'a request whose answer was lost is admitted again',
    edits: [
      {
        file: `${VERBS}/admit.lua`,
        find: 'local function known(name) return first_of[name] or read_job(name) end',
        replace: 'local function known(name) return first_of[name] end',
      },
    ],
  },
  {
    name: 'late-request-admitted',
    subject: 'requests',
    what: 'a request that comes after its caller got the error that Redis is away is admitted',
    edits: [
      {
        file: `${VERBS}/admit.lua`,
        find: "if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end",
        replace: '',
      },
    ],
  },
  {
    name: 'capacity-read-before',
    subject: 'line',
    what: 'a call reads how many wait, and then puts each of its jobs into the line by that',
    edits: [
      {
        file: `${LIB}/verdict.lua`,
        find: '  local excess = bucket.waiting + cost - bucket.capacity\n',
        replace:
          '  bucket.readBefore = bucket.readBefore or bucket.waiting\n' +
          '  local excess = bucket.readBefore + cost - bucket.capacity\n',
      },
    ],
  },
  {
    name: 'gate-in-two-steps',
    subject: 'zombies',
    what: 'a worker asks for a slot in one step and starts in another, without a look whether the job is still its own',
    edits: [
      {
        file: 'src/redis/slots/start-window.ts',
        find: 'if (now < from || now > until || now >= leasedUntil) return undefined',
        replace: 'if (now < from || leasedUntil === until) return undefined',
      },
    ],
  },
  {
    name: 'no-late-look',
    subject: 'operator',
    what: 'the last look does not see that it is too late for its slot',
    edits: [
      {
        file: 'src/redis/slots/start-window.ts',
        find: 'if (now < from || now > until || now >= leasedUntil) return undefined',
        replace: 'if (now < from || until < from || now >= leasedUntil) return undefined',
      },
    ],
  },
]

import type { Redis } from 'ioredis'
import { SECOND } from '../../src/core/duration.ts'
import type { LimitInput } from '../../src/core/limit.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { BACK, COMPLETED, RedisStage } from '../conformance/redis-stage.ts'
import { at, request, TURN_CALLER } from '../support/backend-driver.ts'
import { connect } from '../support/redis-driver.ts'

/** As many as one call of this package names, hands over or looks at, and more. */
const BUCKETS = 250
const LEASE = 30 * SECOND
/** When what was admitted at 0 is due. */
const DUE = 100

/** As many parts as a limit may have. */
const PARTS = {
  '*':
    '1000000, 1/s, 900/minute, 9000/hour, 90000/day, 500000 per week in Europe/Berlin, 9000 tokens/minute 20 each, ' +
    '90000 tokens/hour 20 each, 900000 tokens per day in UTC 20 each, 1000 images/minute 1 each, 1000 at once',
}

/** A call that does as much as one call may do. */
export interface LargestCall {
  readonly verb: string
  readonly limits?: Readonly<Record<string, LimitInput>>
  /** When the line is opened; seconds. Default: 0. */
  readonly openedAt?: number
  /** What stands in the shard before it. Returns what makes the call. */
  prepare(stage: RedisStage): Promise<() => Promise<unknown>>
}

const key = (bucket: number) => `tenant/${bucket}`

/** One job for each bucket and round: `j0` is the first of bucket 0. */
async function admit(stage: RedisStage, rounds: number, part: object = {}, buckets = BUCKETS): Promise<void> {
  const asked = Array.from({ length: rounds * buckets }, (_, index) =>
    request(`j${index}`, { key: key(index % buckets), ...part }),
  )
  await stage.backend.verbs.admitMany(asked, at(0))
}

/** All that may be handed over: of each bucket as many as `window`. */
async function handAll(stage: RedisStage, window = 1, lease = LEASE): Promise<HandedJob[]> {
  const handed: HandedJob[] = []
  for (;;) {
    const { jobs } = await stage.claim(DUE, { lookAhead: window * SECOND, lease })
    if (jobs.length === 0) return handed
    handed.push(...jobs)
  }
}

/** Of 50 buckets the first of the 16 jobs that were handed over. */
async function handDeep(stage: RedisStage): Promise<HandedJob[]> {
  await admit(stage, 16, {}, 50)
  const handed = await handAll(stage, 16)
  return handed.filter(({ id }) => Number(id.slice(1)) < 50)
}

/** Recovers what has lost its lease of a second; until just before, the clock was seen to go on. */
async function recovery(stage: RedisStage) {
  await stage.backend.verbs.renew(0, [], 0, at(DUE + 1.5))
  return () => stage.recover(DUE + 2.5)
}

/** Asks for the slots of all of them, until each has one. */
async function gateAll(stage: RedisStage, handed: readonly HandedJob[], lease = LEASE): Promise<void> {
  for (let left = handed; left.length > 0; ) {
    const asked = left.map((job) => ({ ...job, worker: 'w1', lead: 0, error: 0, lease }))
    const { answers } = await stage.backend.verbs.gate(0, asked, at(DUE))
    left = left.filter((_, index) => answers[index]!.kind === 'wait')
  }
}

/** The first jobs of all buckets; they have a slot, which is charged to all parts. */
async function grantAll(stage: RedisStage, lease = LEASE, rounds = 3): Promise<HandedJob[]> {
  await admit(stage, rounds)
  const handed = await handAll(stage, 1, lease)
  for (let from = 0; from < handed.length; from += 50) {
    const some = handed.slice(from, from + 50)
    await gateAll(stage, some, lease)
  }
  return handed
}

/** The first jobs of all buckets; they have started. */
async function startAll(stage: RedisStage, lease = LEASE, rounds = 3): Promise<HandedJob[]> {
  const handed = await grantAll(stage, lease, rounds)
  for (let from = 0; from < handed.length; from += 50) {
    const some = handed.slice(from, from + 50)
    await stage.backend.verbs.start(
      0,
      some.map((job) => ({ ...job, startedAt: at(DUE) })),
      at(DUE),
    )
  }
  return handed
}

/** Asks for the runs of so many fast buckets in one call, or again for what was answered before. */
const runs = (buckets: number, jobs: number, isAgain = false): LargestCall => ({
  verb: 'follow',
  limits: { '*': '1000000, 20000/s, tolerance 1ms' },
  prepare: async (stage) => {
    await admit(stage, jobs, { cost: 2, traceparent: '00-1-2-01' }, buckets)
    const handed = await stage.hand(DUE)
    await gateAll(stage, handed)
    const most = isAgain ? 0 : 25
    const asked = handed.map(({ epoch }, index) => ({ key: key(index), known: epoch, most }))
    for (const one of isAgain ? asked : []) await stage.follow(one.known, DUE, { key: one.key })
    return () => stage.backend.verbs.follow(0, { worker: 'w1', lease: LEASE, error: 0 }, asked, at(DUE))
  },
})

export const LARGEST_CALLS: Readonly<Record<string, LargestCall>> = {
  'admit jobs for new keys': {
    verb: 'admit',
    prepare: async (stage) => {
      const asked = Array.from({ length: 200 }, (_, index) =>
        request(`n${index}`, { key: key(index), deadline: 1_000 * SECOND }),
      )
      return () => stage.backend.verbs.admitMany(asked, at(0))
    },
  },
  'refuse jobs in full lines of costly ones': {
    verb: 'admit',
    limits: { '*': '240, 1/s' },
    prepare: async (stage) => {
      await admit(stage, 120, { cost: 2 }, 120)
      const asked = Array.from({ length: 120 }, (_, index) =>
        request(`n${index}`, { key: key(index), cost: 200 }),
      )
      return () => stage.backend.verbs.admitMany(asked, at(0))
    },
  },
  'hand jobs over': {
    verb: 'claim',
    prepare: async (stage) => {
      await admit(stage, 3)
      return () => stage.claim(DUE)
    },
  },
  'grant a run of jobs that cost more than one': runs(1, 60),
  'grant runs of many buckets': runs(25, 30),
  'name runs of many buckets again': runs(25, 30, true),
  'hand jobs and turns over': {
    verb: 'claim',
    prepare: async (stage) => {
      await admit(stage, 1)
      const turns = Array.from({ length: BUCKETS }, (_, index) =>
        request(`~${TURN_CALLER}~${index}`, { key: `turn/${index}`, isTurn: true }),
      )
      await stage.backend.verbs.admitMany(turns, at(0))
      return () => stage.claim(DUE)
    },
  },
  'forget buckets with quotas': {
    verb: 'claim',
    limits: { '*': '9, 1/s, 5/minute, 300 tokens/minute 20 each' },
    prepare: async (stage) => {
      const started = await startAll(stage, LEASE, 1)
      for (let from = 0; from < started.length; from += 50) {
        const ends = started.slice(from, from + 50).map((job) => ({ ...job, outcome: COMPLETED }))
        await stage.backend.verbs.finish(0, ends, at(DUE))
      }
      return () => stage.claim(DUE + 100)
    },
  },
  'look for a slot': {
    verb: 'gate',
    prepare: async (stage) => {
      await admit(stage, 3)
      const handed = (await handAll(stage)).slice(0, 50)
      const named = { worker: 'w1', lead: 0, error: 0, lease: LEASE }
      return () =>
        stage.backend.verbs.gate(
          0,
          handed.map((job) => ({ ...job, ...named })),
          at(DUE),
        )
    },
  },
  'give back all behind the jobs that look for a slot': {
    verb: 'gate',
    prepare: async (stage) => {
      const named = { worker: 'w1', lead: 0, error: 0, lease: LEASE }
      const asked = (await handDeep(stage)).map((job) => ({ ...job, ...named }))
      for (let bucket = 0; bucket < 50; bucket++) await stage.backend.verbs.pause(key(bucket), at(DUE))
      return () => stage.backend.verbs.gate(0, asked, at(DUE))
    },
  },
  'give back all behind the jobs that come back': {
    verb: 'finish',
    prepare: async (stage) => {
      const reports = (await handDeep(stage)).map((job) => ({ ...job, outcome: BACK }))
      return () => stage.backend.verbs.finish(0, reports, at(DUE))
    },
  },
  'note starts': {
    verb: 'start',
    prepare: async (stage) => {
      await admit(stage, 3)
      const handed = (await handAll(stage)).slice(0, 50)
      await gateAll(stage, handed)
      return () =>
        stage.backend.verbs.start(
          0,
          handed.map((job) => ({ ...job, startedAt: at(DUE) })),
          at(DUE),
        )
    },
  },
  'note ends': {
    verb: 'finish',
    prepare: async (stage) => {
      const started = (await startAll(stage)).slice(0, 50)
      const outcome = { kind: 'retry', error: 'no', delay: 1 } as const
      return () =>
        stage.backend.verbs.finish(
          0,
          started.map((job) => ({ ...job, outcome })),
          at(DUE),
        )
    },
  },
  'renew leases': {
    verb: 'renew',
    prepare: async (stage) => {
      const started = (await startAll(stage)).slice(0, 200)
      return () => stage.backend.verbs.renew(0, started, LEASE, at(DUE))
    },
  },
  'are they handed': {
    verb: 'handed',
    prepare: async (stage) => {
      const started = (await startAll(stage)).slice(0, 200)
      return () => stage.backend.verbs.areHanded(0, started)
    },
  },
  'take jobs back from workers that died': {
    verb: 'recover',
    prepare: async (stage) => {
      await startAll(stage, SECOND)
      return recovery(stage)
    },
  },
  'take back all that was handed over': {
    verb: 'recover',
    prepare: async (stage) => {
      await admit(stage, 16)
      await handAll(stage, 16, SECOND)
      return recovery(stage)
    },
  },
  'give slots back': {
    verb: 'finish',
    prepare: async (stage) => {
      const reports = (await grantAll(stage)).slice(0, 50).map((job) => ({ ...job, outcome: BACK }))
      return () => stage.backend.verbs.finish(0, reports, at(DUE))
    },
  },
  'take slots back from workers that died': {
    verb: 'recover',
    prepare: async (stage) => {
      await grantAll(stage, SECOND)
      return recovery(stage)
    },
  },
  'expire jobs': {
    verb: 'expire',
    prepare: async (stage) => {
      await admit(stage, 3, { deadline: 50 * SECOND })
      return () => stage.backend.verbs.expire(0, at(DUE))
    },
  },
  'apply a new limit': {
    verb: 'retime',
    prepare: async (stage) => {
      await admit(stage, 3)
      await handAll(stage)
      return () => stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '1000000, 2/s') }, at(DUE))
    },
  },
  'look at all buckets': {
    verb: 'survey',
    prepare: async (stage) => {
      await admit(stage, 5)
      await handAll(stage, 2)
      return async () => {
        for await (const _ of stage.views.survey());
      }
    },
  },
  audit: {
    verb: 'audit',
    prepare: async (stage) => {
      await admit(stage, 5)
      await handAll(stage, 2)
      return () => stage.views.audit()
    },
  },
}

/** Five quotas, of which none holds a job back. */
const FIVE = `1000000, 1/s, ${['', ' tokens', ' images', ' pages', ' calls']
  .map((unit) => `1000000000${unit}/10 minutes${unit && ' 10 each'}`)
  .join(', ')}`

const FIVE_OF_JOBS = `1000000, 1/s, ${[600, 601, 602, 603, 604].map((s) => `1000000000/${s}s`).join(', ')}`

/** Of a window of ten minutes, in seconds. */
const SUB_WINDOW = 10
const FILLED_FROM = -61 * SUB_WINDOW

/** What quotas count where something has started in each sub-window, as Redis keeps it. */
async function filledQuotas(stage: RedisStage): Promise<Buffer> {
  for (let second = FILLED_FROM; second < 0; second++) {
    // Calls that are further apart look like a clock that was set.
    await stage.backend.verbs.renew(0, [], 0, at(second))
    if (second % SUB_WINDOW !== 0) continue
    await stage.admit(`f${second}`, second, { key: 'filled' })
    await stage.finish(await stage.run(second), COMPLETED, second)
  }
  await stage.backend.verbs.renew(0, [], 0, at(0))
  const filled = await stage.redis.hgetBuffer(shardKey(stage.tag, 'quotas'), 'filled')
  return filled!
}

/** The same call, while all sub-windows of five quotas count something in each bucket. */
const underFilledQuotas = ({ verb, prepare }: LargestCall, limit = FIVE): LargestCall => ({
  verb,
  limits: { '*': limit },
  openedAt: FILLED_FROM,
  prepare: async (stage) => {
    const filled = await filledQuotas(stage)
    const act = await prepare(stage)
    const quotas = shardKey(stage.tag, 'quotas')
    for (const bucket of await stage.redis.hkeys(shardKey(stage.tag, 'buckets'))) {
      await stage.redis.hset(quotas, bucket, filled)
    }
    return act
  },
})

const admitToAll: LargestCall = {
  verb: 'admit',
  prepare: async (stage) => {
    await admit(stage, 1)
    const asked = Array.from({ length: 200 }, (_, index) => request(`n${index}`, { key: key(index) }))
    return () => stage.backend.verbs.admitMany(asked, at(DUE))
  },
}

const admitSeveral: LargestCall = {
  verb: 'admit',
  prepare: async (stage) => {
    await admit(stage, 1)
    const asked = Array.from({ length: 200 }, (_, index) => request(`n${index}`, { key: key(index % 40) }))
    return () => stage.backend.verbs.admitMany(asked, at(DUE))
  },
}

export const FILLED_CALLS: Readonly<Record<string, LargestCall>> = {
  'admit jobs under filled quotas': underFilledQuotas(admitToAll),
  'admit jobs under filled quotas of jobs': underFilledQuotas(admitToAll, FIVE_OF_JOBS),
  'admit several jobs of each key under filled quotas': underFilledQuotas(admitSeveral),
  ...Object.fromEntries(
    [
      'hand jobs over',
      'look for a slot',
      'note starts',
      'note ends',
      'expire jobs',
      'look at all buckets',
    ].map((name) => [`${name} under filled quotas`, underFilledQuotas(LARGEST_CALLS[name]!)]),
  ),
}

export const PARTS_CALLS: Readonly<Record<string, LargestCall>> = Object.fromEntries(
  [
    'note ends',
    'give back all behind the jobs that come back',
    'take jobs back from workers that died',
    'take back all that was handed over',
    'give slots back',
    'take slots back from workers that died',
  ].map((name) => [`${name} under all parts`, { ...LARGEST_CALLS[name]!, limits: PARTS }]),
)

export async function openStage(url: string, client: Redis, call: LargestCall): Promise<RedisStage> {
  await client.flushall()
  const { limits = '1000000, 1/s', openedAt = 0 } = call
  return RedisStage.open(limits, { connection: connect(url), client, openedAt: at(openedAt) })
}

import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const NAMES = [
  'meta',
  'buckets',
  'jobs',
  'states',
  'due',
  'turns',
  'idle',
  'fill',
  'deadlines',
  'leases',
  'ended',
  'shares',
  'aging',
  'gone',
  'wake',
  'watched',
] as const
type Name = (typeof NAMES)[number]

/** Every verb that writes, on a stage where `x` runs, `y` is handed over and `z` waits. */
const VERBS = {
  admit: (stage: RedisStage) => stage.admit('new', 2),
  cancel: (stage: RedisStage) => stage.backend.verbs.cancel('z', at(2)),
  expire: (stage: RedisStage) => stage.backend.verbs.expire(0, at(2)),
  claim: (stage: RedisStage) => stage.claim(2),
  gate: (stage: RedisStage) => stage.gate({ id: 'y', epoch: 1 }, 1),
  start: (stage: RedisStage) => stage.start({ id: 'y', epoch: 1 }, 1),
  finish: (stage: RedisStage) => stage.finish({ id: 'x', epoch: 1 }, COMPLETED, 2),
  renew: (stage: RedisStage) => stage.renew({ id: 'y', epoch: 1 }, 9, 2),
  recover: (stage: RedisStage) => stage.recover(99),
  freeze: (stage: RedisStage) => stage.backend.verbs.freeze('a', 1_000, at(2)),
  pause: (stage: RedisStage) => stage.backend.verbs.pause('a', at(2)),
  resume: (stage: RedisStage) => stage.backend.verbs.resume('a', at(2)),
} as const

type Verb = keyof typeof VERBS
const isVerb = (name: string): name is Verb => name in VERBS
const VERB_NAMES = Object.keys(VERBS).filter(isVerb)

/** What a verb cannot do without; of the others it may also make do. */
const NEEDS: Readonly<Record<Verb, readonly Name[]>> = {
  admit: ['meta', 'buckets', 'jobs'],
  cancel: ['meta', 'buckets', 'jobs'],
  expire: ['meta', 'deadlines'],
  claim: ['meta', 'buckets', 'due', 'leases'],
  gate: ['meta', 'buckets', 'jobs', 'states', 'leases'],
  start: ['meta', 'buckets', 'jobs', 'states'],
  finish: ['meta', 'buckets', 'jobs', 'states', 'ended'],
  renew: ['states', 'leases'],
  recover: ['meta', 'leases', 'buckets', 'jobs', 'states'],
  freeze: ['meta', 'buckets'],
  pause: ['meta', 'buckets'],
  resume: ['meta', 'buckets'],
}

async function busyStage(): Promise<RedisStage> {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0)
  await stage.admit('y', 0, { deadline: at(90) })
  await stage.lineUp('z', 0)
  await stage.run(0)
  await stage.hand(1)
  return stage
}

/** The verb is refused with `foreign-value` and has written nothing; or it could do without, and was done. */
async function isRefused(stage: RedisStage, verb: Verb): Promise<boolean> {
  const before = await stage.dump()
  try {
    await VERBS[verb](stage)
    return false
  } catch (error) {
    if (!isVelvetRopeError(error, 'foreign-value')) throw error
    expect(await stage.dump()).toEqual(before)
    return true
  }
}

describe.each(NAMES)('a value of another type under :%s', (name) => {
  test.each(VERB_NAMES)('%s', async (verb) => {
    const stage = await busyStage()
    const key = shardKey(stage.tag, name)
    await stage.redis.del(key)
    await stage.redis.set(key, 'foreign value')
    const refused = await isRefused(stage, verb)
    if (NEEDS[verb].includes(name)) expect(refused).toBe(true)
    expect(await stage.redis.get(key)).toBe('foreign value')
  })
})

/** Content that none of our scripts writes. */
const POISONS: Readonly<Record<string, (stage: RedisStage) => Promise<unknown>>> = {
  'a bucket that is text': ({ redis, tag }) => redis.hset(shardKey(tag, 'buckets'), 'a', 'no bucket'),
  'a bucket that is empty': ({ redis, tag }) => redis.hset(shardKey(tag, 'buckets'), 'a', ''),
  'a bucket of another version': ({ redis, tag }) =>
    // A list with the one element 99, as MessagePack.
    redis.hset(shardKey(tag, 'buckets'), 'a', Buffer.from([0x91, 99])),
  'jobs that are text': ({ redis, tag }) =>
    redis.hset(shardKey(tag, 'jobs'), { x: 'no job', y: 'no job', z: 'no job', new: 'no job' }),
  'states that are text': ({ redis, tag }) =>
    redis.hset(shardKey(tag, 'states'), { x: 'no state', y: 'no state', z: 'no state' }),
  'counters that are text': ({ redis, tag }) =>
    redis.hset(shardKey(tag, 'meta'), { fence: 'none', admitted: 'none', ended: 'none', numbers: 'none' }),
  'a version that is text': ({ redis, tag }) => redis.hset(shardKey(tag, 'meta'), 'book', 'none'),
  'a line that is text': ({ redis, tag }) => replace(redis, `${tag}:line:1`),
  'those handed over that are text': ({ redis, tag }) => replace(redis, `${tag}:handed:1`),
  'retries that are text': ({ redis, tag }) => replace(redis, `${tag}:retry:1`),
  'those given back that are text': ({ redis, tag }) => replace(redis, `${tag}:back:1`),
  'a stranger in the line': ({ redis, tag }) => redis.lpush(`${tag}:line:1`, 'stranger'),
  'a stranger among those handed over': ({ redis, tag }) => redis.lpush(`${tag}:handed:1`, 'stranger'),
  'a stranger among the leases': ({ redis, tag }) => redis.zadd(shardKey(tag, 'leases'), 0, 'stranger'),
  'a stranger among the deadlines': ({ redis, tag }) => redis.zadd(shardKey(tag, 'deadlines'), 0, 'stranger'),
  'a stranger among those due': ({ redis, tag }) => redis.zadd(shardKey(tag, 'due'), 0, 'stranger'),
}

async function replace(redis: Redis, key: string): Promise<void> {
  await redis.del(key)
  await redis.set(key, 'text')
}

describe.each(Object.keys(POISONS))('%s', (poison) => {
  test.each(VERB_NAMES)('%s: done, or refused with nothing written', async (verb) => {
    const stage = await busyStage()
    await POISONS[poison]!(stage)
    await isRefused(stage, verb)
  })
})

describe('one bucket with a foreign value', () => {
  async function twoBuckets(badAt = 0): Promise<RedisStage> {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('p', badAt, { key: 'bad' })
    await stage.lineUp('q', 0.1, { key: 'good' })
    return stage
  }

  test.each([
    ['before', 0],
    ['after', 0.2],
  ])('keeps no job from being handed over that is due %s it', async (_, badAt) => {
    const stage = await twoBuckets(badAt)
    await stage.redis.hset(shardKey(stage.tag, 'buckets'), 'bad', 'no bucket')
    const handed: string[] = []
    for (let call = 0; call < 2; call++) {
      const jobs = await stage.hand(1).catch(() => [])
      handed.push(...jobs.map(({ id }) => id))
    }
    expect(handed).toEqual(['q'])
  })

  test.each(['gate', 'start', 'finish'] as const)(
    '%s: others of the same call are not half done',
    async (verb) => {
      const stage = await twoBuckets()
      const jobs = await stage.hand(1)
      const good = jobs.find(({ id }) => id === 'q')!
      const bad = jobs.find(({ id }) => id === 'p')!
      for (const job of [good, bad]) {
        if (verb !== 'gate') await stage.gate(job, 1)
        if (verb === 'finish') await stage.start(job, 1)
      }
      await stage.redis.hset(shardKey(stage.tag, 'buckets'), 'bad', 'no bucket')
      const before = await stage.dump()
      const both = [good, bad]
      const calls = {
        gate: () =>
          stage.backend.verbs.gate(
            0,
            both.map((job) => ({ ...job, worker: 'w1', lead: 0, error: 0, lease: 1_000_000 })),
            at(1),
          ),
        start: () =>
          stage.backend.verbs.start(
            0,
            both.map((job) => ({ ...job, startedAt: at(1) })),
            at(1),
          ),
        finish: () =>
          stage.backend.verbs.finish(
            0,
            both.map((job) => ({ ...job, outcome: COMPLETED })),
            at(1),
          ),
      }
      try {
        // Either the good one is answered, or nothing was done.
        await calls[verb]()
      } catch {
        expect(await stage.dump()).toEqual(before)
      }
    },
  )
})

describe('one bucket that cannot be read', () => {
  /** `p` of the bucket `bad`, which is the first, and `q` of `good`. */
  async function waiting(deadline = Number.POSITIVE_INFINITY): Promise<RedisStage> {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('p', 0, { key: 'bad', deadline })
    await stage.lineUp('q', 0.1, { key: 'good', deadline })
    return stage
  }

  const UNREADABLE = {
    'its record': ({ redis, tag }: RedisStage) => redis.hset(shardKey(tag, 'buckets'), 'bad', 'garbage'),
    'its line': ({ redis, tag }: RedisStage) => replace(redis, `${tag}:line:1`),
    'those handed over': ({ redis, tag }: RedisStage) => replace(redis, `${tag}:handed:1`),
    'its retries': ({ redis, tag }: RedisStage) => replace(redis, `${tag}:retry:1`),
    'those given back': ({ redis, tag }: RedisStage) => replace(redis, `${tag}:back:1`),
    'its job': ({ redis, tag }: RedisStage) => redis.hset(shardKey(tag, 'jobs'), 'p', 'garbage'),
    'the state of its job': ({ redis, tag }: RedisStage) =>
      redis.hset(shardKey(tag, 'states'), 'p', 'garbage'),
  }

  describe.each(Object.entries(UNREADABLE))('%s', (_, spoil) => {
    const others = (jobs: readonly { readonly id: string }[]) =>
      jobs.map(({ id }) => id).filter((id) => id !== 'p')

    test('claim hands over the others, time and again', async () => {
      const stage = await waiting()
      await spoil(stage)
      expect(others(await stage.hand(1))).toEqual(['q'])
      await stage.lineUp('r', 1, { key: 'other' })
      expect(others(await stage.hand(1))).toEqual(['r'])
    })

    test('a change of limits holds the others to it', async () => {
      const stage = await waiting()
      await spoil(stage)
      await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '9, 2/s') }, at(0.2))
      expect(await stage.inspect('good', 0.2)).toMatchObject({ limit: '9, 2/s' })
      const numbers = await stage.redis.hmget(shardKey(stage.tag, 'meta'), 'book', 'retimed')
      expect(numbers).toEqual(['2', '2'])
    })

    test('recover returns the others to their lines, and looks at it again in a minute', async () => {
      const stage = await waiting()
      await stage.hand(1)
      await spoil(stage)
      expect(others(await stage.recover(31))).toEqual(['q'])
      expect(await stage.state('q', 31)).toBe('waiting')
      expect(await stage.recover(90)).toEqual([])
      expect((await stage.claim(90)).nextRecovery).toBeLessThanOrEqual(at(91 + 30))
    })

    test('expire ends the others, and looks at it again in a minute', async () => {
      const stage = await waiting(at(5))
      await spoil(stage)
      expect(others(await stage.backend.verbs.expire(0, at(6)))).toEqual(['q'])
      expect(await stage.state('q', 6)).toBe('expired')
      expect(await stage.backend.verbs.expire(0, at(60))).toEqual([])
    })
  })
})

describe('reads', () => {
  test.each(Object.keys(POISONS))('%s: answered or refused, and nothing written', async (poison) => {
    const stage = await busyStage()
    await POISONS[poison]!(stage)
    const before = await stage.dump()
    const reads = [
      stage.backend.verbs.forecast('a', 1, at(2)),
      stage.views.job('x', at(2)),
      stage.views.inspect('a', at(2)),
      stage.list(2),
      stage.views.audit(),
    ]
    for (const { status, ...rest } of await Promise.allSettled(reads)) {
      if (status === 'rejected' && 'reason' in rest)
        expect(rest.reason).toMatchObject({ code: 'foreign-value' })
    }
    expect(await stage.dump()).toEqual(before)
  })

  test('a total that is gone: answered without it, and nothing written', async () => {
    const stage = await RedisStage.open({ '*': '9, 1/s', 'a/': '9, 1/s' })
    await stage.lineUp('p', 0, { key: 'a/b' })
    await stage.hand(1)
    await stage.redis.del(shardKey(stage.tag, 'totals'))
    const before = await stage.dump()
    expect(await stage.inspect('a/b', 2)).toMatchObject({ jobs: 1 })
    expect(await stage.list(2)).toMatchObject({ buckets: [{ key: 'a/b' }] })
    expect(await stage.views.job('p', at(2))).toMatchObject({ id: 'p' })
    expect(await stage.views.audit()).toMatchObject({ handed: 1 })
    expect(await stage.dump()).toEqual(before)
    // To watch is to write.
    expect(await stage.views.recent('a/b', at(2))).toBeDefined()
  })
})

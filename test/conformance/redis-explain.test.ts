import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MINUTE } from '../../src/core/duration.ts'
import { explain } from '../../src/line/explanation.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, msAt } from '../support/backend-driver.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { RedisStage } from './redis-stage.ts'
import { TurnStage } from './turn-stage.ts'

const RULE = { pattern: '*', limit: '9, 1/s', origin: 'code' } as const

async function explained(stage: RedisStage, id: string, seconds: number) {
  return explain((await stage.views.facts(id, at(seconds)))!, RULE)
}

async function explanationOf(stage: RedisStage, id: string, seconds: number) {
  const { holds, summary } = await explained(stage, id, seconds)
  return [...holds.map(({ reason }) => reason), summary]
}

describe('on the way to a handler', () => {
  test('a job that was handed over, then has its slot, and the jobs behind it', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('wxyz', 0)
    await stage.run(0)
    const [x, y] = await stage.hand(0.5, 2_000)
    expect(await explanationOf(stage, 'x', 0.5)).toEqual([
      'slot',
      'handed',
      'First in line of a, handed over to the workers: departs in 0.5 s at 1/s.',
    ])
    expect(await explained(stage, 'y', 0.5)).toMatchObject({
      state: 'handed',
      position: 2,
      departsAt: msAt(2),
      holds: [
        { reason: 'line' },
        { reason: 'handed', until: msAt(2), detail: expect.stringContaining('ahead of it') },
      ],
    })
    expect(await stage.gate(x!, 0.8)).toMatchObject({ kind: 'granted' })
    expect(await explained(stage, 'x', 0.9)).toMatchObject({
      state: 'handed',
      position: 1,
      departsAt: msAt(1),
      holds: [{ reason: 'handed', until: msAt(1), detail: 'worker w1 has its slot, and waits for it' }],
      summary: 'First in line of a, at worker w1: departs in 0.1 s at 1/s.',
    })
    expect(await explained(stage, 'z', 0.9)).toMatchObject({
      position: 3,
      departsAt: msAt(3),
      ahead: { jobs: 2, cost: 2, ids: ['x', 'y'] },
    })
    const line = await stage.views.line('a', 50, at(0.9))
    expect(line).toMatchObject({ total: 3 })
    expect(line!.jobs.map(({ id, state }) => [id, state])).toEqual([
      ['x', 'handed'],
      ['y', 'handed'],
      ['z', 'waiting'],
    ])
    expect(await stage.start(x!, 1)).toBe(true)
    expect(y).toBeDefined()
  })

  test('a job that has its slot starts, though its bucket was paused and frozen since', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0)
    await stage.backend.verbs.pause('a', at(0))
    await stage.backend.verbs.freeze('a', MINUTE, at(0))
    expect(await explanationOf(stage, 'x', 0)).toEqual([
      'handed',
      'First in line of a, at worker w1: departs now.',
    ])
    expect(await explanationOf(stage, 'y', 0)).toEqual([
      'paused',
      'line',
      'frozen',
      'Second in line of a, which is paused and frozen for another 60 s: does not depart until it is resumed, behind 1 job.',
    ])
  })
})

describe('nothing takes jobs', () => {
  test('no scheduler: nothing was handed over for seconds', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    expect(await explanationOf(stage, 'x', 0.9)).toEqual(['First in line of a: departs now.'])
    expect(await explanationOf(stage, 'y', 12)).toEqual([
      'no-worker',
      'line',
      'Second in line of a: could depart in 1 s at 1/s, behind 1 job, but no scheduler has handed jobs over for 12 s.',
    ])
    expect((await explained(stage, 'y', 12)).departsAt).toBeUndefined()
    await stage.backend.verbs.pause('b', at(12))
    await stage.claim(13, { most: 1 })
    await stage.lineUp('z', 13, { key: 'b' })
    expect(await explanationOf(stage, 'z', 17)).toContain('paused')
  })

  test('no worker: handed over again and again, and never taken', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    await stage.hand(0)
    expect(await explanationOf(stage, 'x', 0.9)).toEqual([
      'handed',
      'First in line of a, handed over to the workers: departs now.',
    ])
    await stage.claim(4)
    expect(await explanationOf(stage, 'x', 4)).toEqual([
      'no-worker',
      'handed',
      'First in line of a, handed over to the workers: could depart now, but no worker has taken the head of the line for 4 s.',
    ])
    expect((await explanationOf(stage, 'y', 4))[0]).toBe('no-worker')
  })

  test('workers run others, and have no handler free', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('r', 0, { key: 'other' })
    await stage.run(0)
    await stage.lineUp('x', 0)
    await stage.hand(0)
    await stage.claim(4)
    expect(await explanationOf(stage, 'x', 4)).toEqual([
      'busy',
      'handed',
      'First in line of a, handed over to the workers: could depart now, but no free handler has taken the head of the line for 4 s.',
    ])
    // Whose lease has ended is not known to run.
    for (const seconds of [13, 22, 31]) await stage.claim(seconds)
    expect((await explanationOf(stage, 'x', 31))[0]).toBe('no-worker')
  })

  test('a caller that does not answer holds up the turns behind its own', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 x', 0)
    await stage.claim(0)
    await stage.jobs.claim(2)
    expect(await explanationOf(stage.jobs, 'x', 2)).toEqual([
      'line',
      'handed',
      'Second in line of a: could depart in 1 s at 1/s, behind 1 job, but the caller at the head of the line has not responded for 2 s.',
    ])
  })
})

test('a deep line is not walked: its jobs are counted, and their cost estimated', async () => {
  const stage = await RedisStage.open('100000, 10/s')
  const requests = Array.from({ length: 3_000 }, (_, n) => ({
    id: `j${n}`,
    key: 'a',
    data: '1',
    cost: 2,
    deadline: Number.POSITIVE_INFINITY,
    settings: {
      attempts: 1,
      backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 },
      timeoutMs: 1,
    } as const,
  }))
  await stage.backend.verbs.admitMany(requests, at(0))
  const { ahead, position, departsAt } = await explained(stage, 'j2500', 0)
  expect({ ...ahead, ids: ahead.ids.length }).toEqual({ jobs: 2_500, cost: 5_000, ids: 10 })
  expect(position).toBe(2_501)
  expect(departsAt).toBeCloseTo(msAt(500), 2)
  expect((await stage.views.job('j2500', at(0)))!.position).toBe(2_501)
})

describe('a foreign value', () => {
  const reads = ({ views }: RedisStage, seconds: number) => [
    views.facts('z', at(seconds)),
    views.line('a', 50, at(seconds)),
    views.flow(at(seconds)),
  ]

  async function busy(): Promise<RedisStage> {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xyz', 0)
    await stage.run(0)
    await stage.hand(1)
    return stage
  }

  const POISONS: Readonly<Record<string, (stage: RedisStage) => Promise<unknown>>> = {
    'a bucket': ({ redis, tag }) => redis.hset(shardKey(tag, 'buckets'), 'a', 'no bucket'),
    jobs: ({ redis, tag }) => redis.hset(shardKey(tag, 'jobs'), { x: 'no', y: 'no', z: 'no' }),
    states: ({ redis, tag }) => redis.hset(shardKey(tag, 'states'), { x: 'no', y: 'no', z: 'no' }),
    counters: ({ redis, tag }) =>
      redis.hset(shardKey(tag, 'meta'), { admitted: 'none', watchedUntil: 'none' }),
    'a line of another type': async ({ redis, tag }) => {
      await redis.del(`${tag}:line:1`)
      await redis.set(`${tag}:line:1`, 'text')
    },
    'a stranger in the line': ({ redis, tag }) => redis.lpush(`${tag}:line:1`, 'stranger'),
    'those watched of another type': ({ redis, tag }) => redis.set(shardKey(tag, 'watched'), 'text'),
  }

  test.each(Object.keys(POISONS))('%s: answered, or refused with nothing written', async (poison) => {
    const stage = await busy()
    await POISONS[poison]!(stage)
    const before = await stage.dump()
    for (const { status, ...rest } of await Promise.allSettled(reads(stage, 2))) {
      if (status === 'rejected' && 'reason' in rest)
        expect(rest.reason).toMatchObject({ code: 'foreign-value' })
    }
    expect(await stage.dump()).toEqual(before)
    try {
      await stage.views.recent('a', at(2))
    } catch (error) {
      expect(error).toMatchObject({ code: 'foreign-value' })
      expect(await stage.dump()).toEqual(before)
    }
  })

  test('notes that cannot be written are dropped, and the line goes on', async () => {
    const stage = await busy()
    const recent = () => stage.views.recent('a', at(2))
    await recent()
    await stage.admit('p', 2)
    const [name] = Object.keys(await stage.dump()).filter((key) => key.includes(':verdicts:'))
    await stage.redis.del(name!)
    await stage.redis.set(name!, 'foreign')
    expect((await stage.admit('q', 2)).admission).toMatchObject({ accepted: true })
    await expect(recent()).rejects.toMatchObject({
      code: 'foreign-value',
    })
    expect(await stage.redis.get(name!)).toBe('foreign')
    await stage.balances()
  })
})

describe('a process that watches', () => {
  test('shows what other processes do; later no note of it is left', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const other = await RedisStage.open('9, 1/s', { prefix: stage.prefix })
    await stage.views.recent('a', at(0))
    await other.lineUp('x', 1)
    await other.run(1)
    expect(await stage.views.recent('a', at(2))).toEqual({
      verdicts: [{ at: msAt(1), id: 'x', accepted: true, waiting: 1 }],
      departures: [{ at: msAt(1), id: 'x' }],
    })
    const left = Object.keys(await stage.dump()).filter((name) => /:(watched|verdicts:|starts:)/.test(name))
    expect(left).toHaveLength(3)
    for (const name of left) expect(await stage.redis.pttl(name)).toBeGreaterThan(0)
    expect(left.join()).not.toContain(':a')
  })

  test('costs no other process anything: no extra call where none watches', async () => {
    await using server = await startRedis()
    const client = new Redis(server.url)
    onTestFinished(() => client.disconnect())
    const stage = await RedisStage.open('99, 1/s', { connection: connect(server.url), client })
    const callsOf = async (work: () => Promise<unknown>) => {
      await client.config('RESETSTAT')
      await work()
      const stats = await client.info('commandstats')
      const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)]
      return Object.fromEntries(calls.map(([, name, count]) => [name, Number(count)]))
    }
    await stage.lineUp('a', 0)
    const asleep = await callsOf(() => stage.lineUp('b', 0))
    await stage.views.recent('other', at(0))
    expect(await callsOf(() => stage.lineUp('c', 60))).toEqual(asleep)
    expect(asleep).not.toHaveProperty('zscore')
    expect(await callsOf(() => stage.lineUp('d', 1))).toEqual({ ...asleep, zscore: 1 })
  })
})

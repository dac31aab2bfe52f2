import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

// What generated inputs found first: see test/fuzz.

test('a job whose record is garbage fails, waits again and is not half gone', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0)
  const [x] = await stage.hand(0)
  await stage.gate(x!, 0)
  await stage.redis.hset(shardKey(stage.tag, 'jobs'), 'x', 'garbage')
  const outcome = { kind: 'retry', error: 'as planned', delay: SECOND } as const
  expect(await stage.finish(x!, outcome, 0.1, 0.05)).toMatchObject({ isMine: true, readyAt: at(1.1) })
  expect(await stage.views.audit()).toMatchObject({ handed: 0, retrying: 1, running: 0 })
  expect(await stage.redis.zrange(`${stage.tag}:retry:1`, '0', '-1')).toEqual(['x'])
  await stage.balances()
})

test('a bucket that has the record of another keeps no job from being handed over', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0, { key: 'copied' })
  await stage.lineUp('y', 0, { key: 'copy' })
  await stage.lineUp('z', 0.1, { key: 'good' })
  const buckets = shardKey(stage.tag, 'buckets')
  await stage.redis.hset(buckets, 'copy', (await stage.redis.hgetBuffer(buckets, 'copied'))!)
  expect((await stage.hand(1)).map(({ id }) => id)).toEqual(expect.arrayContaining(['x', 'z']))
})

test('a version of the rules that is text refuses a claim before it writes anything', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0)
  await stage.redis.hset(shardKey(stage.tag, 'meta'), 'retimed', 'none')
  const before = await stage.dump()
  await expect(stage.claim(0)).rejects.toMatchObject({ code: 'foreign-value' })
  expect(await stage.dump()).toEqual(before)
})

test.each(['ended', 'numbers'])(
  'a counter of %s that is no whole number is a foreign value',
  async (field) => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    await stage.redis.hset(shardKey(stage.tag, 'meta'), field, '1.5')
    const before = await stage.dump()
    await expect(stage.backend.verbs.cancel('x', at(0))).rejects.toMatchObject({ code: 'foreign-value' })
    await expect(stage.backend.verbs.pause('new', at(0))).rejects.toMatchObject({ code: 'foreign-value' })
    expect(await stage.dump()).toEqual(before)
  },
)

test('two buckets with one record hand over the jobs of their one line', async () => {
  const stage = await RedisStage.open('9, 1000/s')
  for (const id of ['x', 'y']) await stage.admit(id, 0, { key: 'a' })
  await stage.admit('z', 0, { key: 'b' })
  const buckets = shardKey(stage.tag, 'buckets')
  await stage.redis.hset(buckets, 'b', (await stage.redis.hgetBuffer(buckets, 'a'))!)
  expect((await stage.hand(0, 50)).map(({ id }) => id).sort()).toEqual(['x', 'y'])
  expect(await stage.hand(1)).toEqual([])
})

test('a state that names no list is a foreign value', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0)
  const [x] = await stage.hand(0)
  const states = shardKey(stage.tag, 'states')
  const record = (await stage.redis.hgetBuffer(states, 'x'))!
  // After the magic number, the state, the epoch and the cost.
  record[15] = 9
  await stage.redis.hset(states, 'x', record)
  expect(await stage.gate(x!, 0)).toEqual({ kind: 'foreign' })
})

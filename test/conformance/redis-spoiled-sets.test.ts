import { expect, test } from 'vitest'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { zoneTable } from '../../src/redis/scripts/zone-tables.ts'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { at } from '../support/backend-driver.ts'
import { BACK, COMPLETED, RedisStage } from './redis-stage.ts'

// What generated inputs found first, under limits of several parts: see test/fuzz.

const TOKENS = '20, 10/s, 90 tokens/minute 10 each'

/** Puts other text of the same length into the record of a bucket or a job. */
async function overwrite(
  stage: RedisStage,
  hash: 'buckets' | 'jobs',
  field: string,
  from: string,
  to: string,
) {
  const key = shardKey(stage.tag, hash)
  const record = (await stage.redis.hgetBuffer(key, field))!.toString('latin1')
  expect(record).toContain(from)
  expect(to).toHaveLength(from.length)
  await stage.redis.hset(key, field, Buffer.from(record.replace(from, to), 'latin1'))
}

test.each([
  ['is no JSON', '{"quotas"', '["quotas"'],
  ['has no quotas', '"quotas"', '"quotes"'],
  ['has a quota without an amount', '"amount":90', '"amount":-1'],
])('a bucket whose limit %s is a foreign value, and holds up no other', async (_, from, to) => {
  const stage = await RedisStage.open(TOKENS)
  await stage.lineUp('x', 0)
  await stage.lineUp('y', 0, { key: 'b' })
  await overwrite(stage, 'buckets', 'a', from, to)
  await expect(stage.admit('z', 0)).rejects.toMatchObject({ code: 'foreign-value' })
  await expect(stage.backend.verbs.cancel('x', at(0))).rejects.toMatchObject({ code: 'foreign-value' })
  expect((await stage.hand(1)).map(({ id }) => id)).toEqual(['y'])
})

test.each([
  ['are no JSON', '{"tokens":30}', '{"tokens":30['],
  ['are no number', '{"tokens":30}', '{"tokens":""}'],
  ['are below 1', '{"tokens":30}', '{"tokens":-3}'],
])('a job whose costs %s gets no slot, and does not stop the others', async (_, from, to) => {
  const stage = await RedisStage.open(TOKENS)
  await stage.admit('x', 0)
  await stage.admit('y', 0, { costs: { tokens: 30 } })
  await overwrite(stage, 'jobs', 'y', from, to)
  expect((await stage.admit('w', 0)).admission).toMatchObject({ accepted: true })
  await stage.finish(await stage.run(0), COMPLETED, 0.05)
  await stage.admit('z', 0.1, { key: 'b' })
  const handed = await stage.hand(0.2)
  expect(handed.map(({ id }) => id)).toEqual(expect.arrayContaining(['y', 'z']))
  expect(await stage.gate(handed.find(({ id }) => id === 'y')!, 0.2)).toEqual({ kind: 'foreign' })
  expect(await stage.gate(handed.find(({ id }) => id === 'z')!, 0.2)).toMatchObject({ kind: 'granted' })
})

test('jobs go back to their line in order, also where the state of one is garbage', async () => {
  const stage = await RedisStage.open('20, 10/s, 90 tokens/minute 10 each')
  await stage.lineUp('xyz', 0)
  const handed = await stage.hand(0, 250)
  expect(handed.map(({ id }) => id)).toEqual(['x', 'y', 'z'])
  await stage.redis.hset(shardKey(stage.tag, 'states'), 'y', 'garbage')
  await stage.finish(handed[0]!, BACK, 0.01)
  expect(await stage.redis.lrange(`${stage.tag}:line:1`, 0, -1)).toEqual(['x', 'y', 'z'])
  expect(await stage.redis.llen(`${stage.tag}:handed:1`)).toBe(0)
  expect(await stage.inspect('a', 0.01)).toMatchObject({ waiting: 3, jobs: 3 })
})

test('a start under a quota that finds its line spoiled writes nothing', async () => {
  const stage = await RedisStage.open('20, 10/s, 9/minute')
  await stage.lineUp('xyz', 0)
  const [x] = await stage.hand(0)
  await stage.gate(x!, 0)
  await stage.redis.set(`${stage.tag}:line:1`, 'foreign')
  const before = await stage.dump()
  expect(await stage.start(x!, 0.01)).toBe(false)
  expect(await stage.dump()).toEqual(before)
})

test('steps of the clock that are garbage refuse a start by name', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0)
  const [x] = await stage.hand(0)
  await stage.gate(x!, 0)
  await stage.redis.hset(shardKey(stage.tag, 'meta'), 'steps', '"')
  await expect(stage.start(x!, 0.01)).rejects.toMatchObject({ code: 'foreign-value' })
})

test('a table of a zone that is garbage keeps the others of the call from being written', async () => {
  const stage = await RedisStage.open('9, 1/s')
  const [, berlin = ''] = zoneTable('Europe/Berlin', at(0))
  const values = [at(0), '0', 'Europe/Berlin', berlin, 'UTC', 'garbage']
  await expect(stage.backend.store.run(allScripts().get('zones')!, 0, values)).rejects.toThrow('VR_ARGUMENT')
  expect(await stage.redis.exists(shardKey(stage.tag, 'zones'))).toBe(0)
})

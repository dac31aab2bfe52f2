import { expect, test } from 'vitest'
import { RedisStage } from '../conformance/redis-stage.ts'
import { at } from '../support/backend-driver.ts'
import { strayKeys } from './key-owners.ts'

async function straysOf(stage: RedisStage): Promise<string[]> {
  const { strays } = await strayKeys(stage.redis, (prefix) => prefix === stage.prefix)
  return strays.map(({ name }) => name).sort()
}

test('the keys of a line in use all have an owner or an end', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('xyz', 0)
  await stage.views.recent('a', 0)
  await stage.backend.verbs.freeze('b', 1_000)
  await stage.recover(1)
  await stage.run(1)
  await stage.backend.verbs.cancel('z', at(1))
  expect(await straysOf(stage)).toEqual([])
})

test('a key of a bucket that is gone, an answer that never ends and an unknown name are found', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0)
  await stage.redis.rpush(`${stage.tag}:line:77`, 'x')
  await stage.redis.zadd(`${stage.tag}:retry:77`, 1, 'x')
  await stage.redis.set(`${stage.tag}:op:left`, 'x')
  await stage.redis.set(`${stage.tag}:unknown`, 'x')
  await stage.redis.persist(`${stage.tag}:watched`)
  await stage.redis.rpush(`${stage.tag}:kept:77`, 'x 1 1 0')
  expect(await straysOf(stage)).toEqual([':kept:77', ':line:77', ':op:left', ':retry:77', ':unknown'])
})

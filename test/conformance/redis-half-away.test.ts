import { expect, test } from 'vitest'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

/** A line over two shards, of which the one without `x` cannot be read. */
async function halfAway() {
  const stage = await RedisStage.open('9, 1/s', { shards: 2 })
  const key = ['a', 'b', 'c', 'd', 'e', 'f'].find((key) => stage.backend.store.shardOf(key) === 0)!
  await stage.lineUp('x', 0, { key })
  await stage.redis.del(shardKey(stage.backend.store.tags[1]!, 'meta'))
  await stage.redis.set(shardKey(stage.backend.store.tags[1]!, 'meta'), 'foreign value')
  return stage
}

test('a job is found and cancelled though another shard fails', async () => {
  const stage = await halfAway()
  expect(await stage.views.job('x', at(0))).toMatchObject({ id: 'x', state: 'waiting' })
  expect(await stage.views.facts('x', at(0))).toBeDefined()
  expect(await stage.backend.verbs.cancel('x', at(0))).toMatchObject({ id: 'x' })
})

test('an id that no shard knows while one of them fails may be in that one', async () => {
  const stage = await halfAway()
  await expect(stage.backend.verbs.cancel('y', at(0))).rejects.toMatchObject({ code: 'foreign-value' })
})

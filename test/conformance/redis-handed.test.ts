import { expect, test } from 'vitest'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { RedisStage } from './redis-stage.ts'

test('a job is handed over under its last epoch until it has ended or waits again', async () => {
  const stage = await RedisStage.open('9, 1/s')
  const isHanded = async (...jobs: HandedJob[]) => stage.backend.verbs.areHanded(0, jobs)
  await stage.lineUp('a', 0)
  const [first] = await stage.hand(0)
  expect(await isHanded(first!, { id: 'a', epoch: 7 }, { id: 'none', epoch: 1 })).toEqual([
    true,
    false,
    false,
  ])
  await stage.gate(first!, 0)
  expect(await isHanded(first!)).toEqual([true])
  await stage.start(first!, 0)
  expect(await isHanded(first!)).toEqual([true])
  await stage.recover(31)
  expect(await isHanded(first!)).toEqual([false])
  const [second] = await stage.hand(40)
  expect(await isHanded(first!, second!)).toEqual([false, true])
  await stage.backend.verbs.cancel('a')
  expect(await isHanded(first!, second!)).toEqual([false, false])
})

test('a job whose record cannot be read counts as handed over', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.redis.hset(shardKey(stage.tag, 'states'), 'a', 'x')
  expect(await stage.backend.verbs.areHanded(0, [{ id: 'a', epoch: 1 }])).toEqual([true])
})

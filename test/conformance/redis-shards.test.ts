import { describe, expect, onTestFinished, test } from 'vitest'
import { openExistingLine } from '../../src/cli/existing-line.ts'
import { Shaper } from '../../src/index.ts'
import { shardKey, shardOf, shardTag } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { eventually, reached } from '../support/patience.ts'
import { lookAt } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { RedisStage } from './redis-stage.ts'

/** A key that stands in that shard of so many. */
function keyIn(shard: number, shards: number): string {
  for (let n = 0; ; n++) if (shardOf(`k${n}`, shards) === shard) return `k${n}`
}

function refused(expected: number, shards: number) {
  const message = expect.stringContaining(
    `expected shards: ${expected}, the number of this line, got: ${shards}`,
  )
  return { code: 'shard-count', expected, shards, message }
}

describe('a process with another number of shards', () => {
  function opener() {
    const prefix = uniquePrefix()
    const open = (shards: number) => {
      const errors: unknown[] = []
      const limits = { '*': '9, 1/h' }
      const shaper = new Shaper('test', { limits, connection: redisAddress(), prefix, shards })
      onTestFinished(() => shaper.close())
      return { shaper: shaper.on('error', (error) => void errors.push(error)), errors }
    }
    return { prefix, open }
  }

  test.each([
    [2, 3],
    [3, 2],
    [1, 256],
    [256, 1],
  ])('is refused while jobs wait, and changes nothing: %i and %i', async (first, second) => {
    const { open } = opener()
    const { shaper } = open(first)
    const key = keyIn(first - 1, first)
    await reached(() => shaper.ready())
    expect(await shaper.enqueue(key, 1)).toMatchObject({ accepted: true })
    const other = open(second).shaper
    await expect(reached(() => other.ready())).rejects.toMatchObject(refused(first, second))
    await expect(reached(() => other.enqueue(key, 2))).rejects.toMatchObject(refused(first, second))
    await expect(reached(() => other.forecast(key))).rejects.toMatchObject(refused(first, second))
    await expect(reached(() => other.pause(key))).rejects.toMatchObject(refused(first, second))
    for (let shard = 0; shard < first; shard++) {
      expect(await shaper.enqueue(keyIn(shard, first), 3)).toMatchObject({ accepted: true })
    }
    const again = open(first).shaper
    await reached(() => again.ready())
    expect(await again.enqueue(key, 4)).toMatchObject({ accepted: true, position: 3 })
    expect(await shaper.audit()).toMatchObject({ admitted: first + 2, ended: 0 })
  })

  test('is refused while a worker waits for jobs, which goes on', async () => {
    const { prefix, open } = opener()
    const { shaper } = open(2)
    const worked = new Promise((resolve) => shaper.work(resolve))
    const meta = shardKey(shardTag(prefix, 'test', 0), 'meta')
    await eventually(async () => expect(await lookAt().hget(meta, 'heardAt')).not.toBeNull())
    await expect(open(1).shaper.ready()).rejects.toMatchObject(refused(2, 1))
    expect(await shaper.enqueue('a', 1)).toMatchObject({ accepted: true })
    await worked
  })

  test('is refused while a bucket is paused', async () => {
    const { open } = opener()
    await open(2).shaper.pause('a')
    await expect(open(1).shaper.ready()).rejects.toMatchObject(refused(2, 1))
  })

  test('may change that of an empty line, after which the others are refused and get one error', async () => {
    const { prefix, open } = opener()
    const { shaper: first, errors } = open(2)
    await first.ready()
    const { shaper: second } = open(3)
    await second.ready()
    for (const key of ['a', keyIn(0, 2), keyIn(1, 2)]) {
      await expect(first.enqueue(key, 1)).rejects.toMatchObject(refused(3, 2))
      await expect(first.pause(key)).rejects.toMatchObject(refused(3, 2))
      expect(await second.enqueue(key, 1)).toMatchObject({ accepted: true })
    }
    await eventually(() => expect(errors).toMatchObject([refused(3, 2)]))
    const line = await openExistingLine({ name: 'test', redis: redisAddress(), prefix })
    onTestFinished(() => line.close())
    expect(await line.audit()).toMatchObject({ admitted: 3 })
  })

  test('that starts at the same moment as another admits nothing, or the other does not', async () => {
    const { open } = opener()
    const key = 'a'
    const both = [open(2).shaper, open(3).shaper]
    await Promise.allSettled(both.map((shaper) => shaper.ready()))
    const answers = await Promise.allSettled(both.map((shaper) => shaper.enqueue(key, 1)))
    const isAccepted = answers.map(({ status }) => status === 'fulfilled')
    expect(isAccepted.filter(Boolean).length).toBeLessThanOrEqual(1)
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'shard-count' })
    }
  })
})

test('a line changes its number when nothing lives and no one was heard for five seconds', async () => {
  const stage = await RedisStage.open('9, 1/s', { shards: 2, openedAt: at(0) })
  const { prefix } = stage
  await stage.lineUp('a', 0)
  const job = await stage.run(0)
  const open = (shards: number, seconds: number) =>
    RedisStage.open('9, 1/s', { prefix, shards, openedAt: at(seconds) })
  await expect(open(3, 0.5)).rejects.toMatchObject({ ...refused(2, 3), message: /; 1 jobs of one shard/ })
  await stage.finish(job, { kind: 'completed', result: undefined }, 0.5)
  await expect(open(3, 0.9)).rejects.toMatchObject(refused(2, 3))
  await expect(open(3, 4.9)).rejects.toMatchObject(refused(2, 3))
  const next = await open(3, 6)
  await expect(stage.admit('b', 6)).rejects.toMatchObject(refused(3, 2))
  await next.lineUp('b', 6)
  await expect(open(2, 20)).rejects.toMatchObject(refused(3, 2))
  expect(await next.state('a', 20)).toBe('completed')
  await next.balances()
})

test('a line of an older version, which has no number, takes it on', async () => {
  const stage = await RedisStage.open('9, 1/s', { shards: 2 })
  await stage.lineUp('a', 0)
  for (const tag of stage.backend.store.tags) await stage.redis.hdel(shardKey(tag, 'meta'), 'shards')
  const again = await RedisStage.open('9, 1/s', { prefix: stage.prefix, shards: 2 })
  await expect(RedisStage.open('9, 1/s', { prefix: stage.prefix, shards: 3 })).rejects.toMatchObject(
    refused(2, 3),
  )
  await again.lineUp('b', 0)
})

test('a line that lost everything takes on the number of the process that admits first', async () => {
  const one = await RedisStage.open('9, 1/s', { shards: 2 })
  await one.redis.del(...Object.keys(await one.dump()))
  await one.lineUp('a', 0)
  await expect(RedisStage.open('9, 1/s', { prefix: one.prefix, shards: 3 })).rejects.toMatchObject(
    refused(2, 3),
  )
})

import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { shardTag } from '../../src/redis/scripts/keys.ts'
import { deliveriesIn, leakedDeliveries, recountAll } from '../support/campaign/seeded/leftovers.ts'
import { RedisProcess } from '../support/redis-process.ts'

const JOBS = 150

/** A line that has come to rest, with more ended jobs than one page of a recount. */
async function rested() {
  const redis = await RedisProcess.start({ port: 'free' })
  const client = new Redis(redis.url)
  const shaper = new Shaper('campaign', {
    limits: { '*': '500, 1000/s, tolerance 0.25ms' },
    connection: redis.url,
    prefix: 'left',
    jobDefaults: { keepFinished: 1_000 },
  })
  onTestFinished(async () => {
    await shaper.close()
    client.disconnect()
    await redis.stop()
  })
  let ended = 0
  shaper.on('completed', () => {
    ended += 1
  })
  shaper.work(() => undefined)
  await shaper.enqueueMany(Array.from({ length: JOBS }, (_, n) => ({ key: `k${n % 3}`, data: n })))
  await expect.poll(() => ended).toBe(JOBS)
  const place = { servers: [redis], prefix: 'left', shards: 1 }
  await expect.poll(() => deliveriesIn(place)).toEqual([])
  return { place, client, tag: shardTag('left', 'campaign', 0) }
}

test('a line at rest leaves nothing in BullMQ, and adds up', async () => {
  const { place } = await rested()
  expect(await leakedDeliveries(place)).toEqual([])
  await expect.poll(() => recountAll(place)).toEqual([])
})

test('a delivery that stays counts as leaked, and a count that is wrong is found', async () => {
  const { place, client, tag } = await rested()
  await client.rpush(`${tag}:rope:wait`, 'x_e1')
  await client.hset(`${tag}:rope:x_e1`, 'data', '{}')
  expect((await leakedDeliveries(place, 0)).toSorted()).toEqual([
    `a delivery is left in BullMQ: ${tag}:rope:wait`,
    `a delivery is left in BullMQ: ${tag}:rope:x_e1`,
  ])
  await client.zadd(`${tag}:fill`, 0.5, 'ghost')
  expect(await recountAll(place)).toContain(`recount of ${tag}: ghost: among the full, and no bucket`)
})

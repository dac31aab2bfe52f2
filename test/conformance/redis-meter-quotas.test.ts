import { expect, onTestFinished, test } from 'vitest'
import { HOUR, MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { ForeignValueError } from '../../src/core/errors.ts'
import { parseCountedLimit } from '../../src/core/limit.ts'
import { packCounts } from '../../src/meter/stored-counts.ts'
import { Meter } from '../../src/meter.ts'
import { lookAt } from '../support/redis-driver.ts'
import { openRedisMeterStore } from '../support/redis-meter-stores.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const METER = { name: 'test', key: 'k' }
const { quotas: QUOTAS } = parseCountedLimit('9, 9/s, 9/h, 90 tokens per day in UTC 7 each')
const FILL = { ...METER, amount: 1, capacity: 9, interval: SECOND, clamp: false, block: 0 }
const QUOTA_FILL = { ...FILL, quotas: QUOTAS, charges: [1, 7] }

async function opened() {
  const prefix = uniquePrefix()
  const store = await openRedisMeterStore({ prefix })
  onTestFinished(() => store.close())
  await store.quotas.fill(QUOTA_FILL)
  const redis = lookAt()
  const [key, ...others] = await redis.keys(`*${prefix}*`)
  expect(others).toEqual([])
  return { store, redis, key: key! }
}

test('level and quotas are one value, which expires with the last of them', async () => {
  const { store, redis, key } = await opened()
  const windows = JSON.stringify(QUOTAS.map(({ unit, window }) => ({ unit, window })))
  const size = await redis.strlen(key)
  // The level, the windows, and one or two entries of 16 bytes in each quota.
  expect(size).toBeGreaterThanOrEqual(34 + 4 + windows.length + 2 * (2 + 16))
  expect(size).toBeLessThanOrEqual(34 + 4 + windows.length + 2 * (2 + 32))
  expect(await redis.pttl(key)).toBeGreaterThan(HOUR / MILLISECOND)
  // Without quotas it is what it always was.
  await store.fill(FILL)
  expect(await redis.strlen(key)).toBe(34)
})

test('a refused fill writes nothing, and a read neither', async () => {
  const { store, redis, key } = await opened()
  const before = await redis.getBuffer(key)
  const expiry = await redis.call('PEXPIRETIME', key)
  expect((await store.quotas.fill({ ...QUOTA_FILL, charges: [1, 84] })).accepted).toBe(false)
  await store.quotas.read(METER)
  expect(await redis.getBuffer(key)).toEqual(before)
  expect(await redis.call('PEXPIRETIME', key)).toBe(expiry)
})

test('what quotas did not count is refused by each verb, and left alone', async () => {
  const { store, redis, key } = await opened()
  const good = (await redis.getBuffer(key))!
  const level = good.subarray(0, 34)
  const packed = (ends: number[], used: number[]) =>
    packCounts(QUOTAS, [
      { ends, used },
      { ends, used },
    ])
  const values = [
    Buffer.concat([level, Buffer.from('x')]),
    good.subarray(0, -1),
    good.subarray(0, 37),
    Buffer.concat([good, Buffer.from('x')]),
    Buffer.concat([level, packed([Number.NaN], [1])]),
    Buffer.concat([level, packed([1], [Number.POSITIVE_INFINITY])]),
    Buffer.concat([level, packed([1], [-1])]),
  ]
  for (const value of values) {
    await redis.set(key, value)
    await expect(store.quotas.fill(QUOTA_FILL)).rejects.toThrow(ForeignValueError)
    expect(await redis.getBuffer(key)).toEqual(value)
  }
  for (const value of values.slice(0, 3)) {
    await redis.set(key, value)
    await expect(store.quotas.read(METER)).rejects.toThrow(ForeignValueError)
  }
})

test('two meters of different limits on one key go on from what the other counted', async () => {
  const prefix = uniquePrefix()
  const open = (limit: string) => {
    const meter = new Meter('m', { limits: { '*': limit }, connection: redisAddress(), prefix })
    onTestFinished(() => meter.close())
    return meter
  }
  const [one, other] = [open('99, 9/s, 9/h'), open('99, 9/s, 7/day, 20 tokens/h 5 each')]
  expect((await one.fill('k', 5)).quotas).toMatchObject([{ used: 5 }])
  expect((await other.fill('k', 2)).quotas).toMatchObject([{ used: 7 }, { used: 5 }])
  expect((await other.fill('k')).refusedBy).toEqual({ quota: '7/day' })
  expect((await one.fill('k', 2)).quotas).toMatchObject([{ used: 9 }])
  expect((await one.fill('k')).accepted).toBe(false)
})

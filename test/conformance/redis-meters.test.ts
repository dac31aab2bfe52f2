import { Cluster, Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HOUR, MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { BackendUnavailableError, ForeignValueError, UnfitRedisError } from '../../src/core/errors.ts'
import type { MeterFill } from '../../src/core/meter.ts'
import type { Filled, MeterStore } from '../../src/meter/meter-store.ts'
import type { RedisMeterStore, RedisMeterStoreOptions } from '../../src/meter/redis-meter-store.ts'
import { Meter } from '../../src/meter.ts'
import { beforeTimer, eventually } from '../support/patience.ts'
import { lookAt } from '../support/redis-driver.ts'
import { openRedisMeterStore } from '../support/redis-meter-stores.ts'
import { redisAddress, startCluster, startRedis, uniquePrefix } from '../support/redis-server.ts'
import { slowWay } from '../support/slow-way.ts'

const TEN: MeterFill = { amount: 1, capacity: 10, interval: HOUR, clamp: false, block: 0 }
const METER = { name: 'test', key: 'k' }
const FILL = { ...METER, ...TEN }

async function opened(options?: Partial<RedisMeterStoreOptions>): Promise<RedisMeterStore> {
  const store = await openRedisMeterStore(options)
  onTestFinished(() => store.close())
  return store
}

/** Opens a store, and finds the one key that it has made. */
async function filled(request = FILL): Promise<{ store: MeterStore; redis: Redis; key: string }> {
  const prefix = uniquePrefix()
  const store = await opened({ prefix })
  await store.fill(request)
  const redis = lookAt()
  const [key, ...others] = await redis.keys(`*${prefix}*`)
  expect(others).toEqual([])
  return { store, redis, key: key! }
}

/** What was thrown within two seconds. */
function settled(promise: Promise<unknown>): Promise<unknown> {
  return beforeTimer(2_000, promise).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
}

describe('the key of a level in Redis', () => {
  test('holds nothing that a user wrote, and lets a cluster spread the levels', async () => {
    const { key } = await filled({ ...FILL, name: 'log in:{x}', key: 'secret/*{a}' })
    expect(key).toMatch(/^t[0-9a-f]+:~[\w-]+:meter:\{[\w-]{22}\}$/)
    const { key: plain } = await filled()
    expect(plain).toMatch(/^t[0-9a-f]+:test:meter:\{[\w-]{22}\}$/)
  })

  test('is one small value', async () => {
    const { redis, key } = await filled()
    expect(await redis.strlen(key)).toBe(34)
  })

  test('expires once the level is empty and not blocked', async () => {
    const second = { ...FILL, interval: SECOND }
    const { redis, key } = await filled({ ...second, amount: 5 })
    const ttl = await redis.pttl(key)
    expect(ttl).toBeGreaterThan(0)
    expect(ttl).toBeLessThanOrEqual(6_001)
    const blocked = await filled({ ...second, amount: 11, block: HOUR })
    expect(await blocked.redis.pttl(blocked.key)).toBeGreaterThan(3_590_000)
    const long = await filled({ ...second, capacity: 1e9, amount: 1e9, interval: 366 * 24 * HOUR })
    expect(await long.redis.pttl(long.key)).toBeGreaterThan(1e15)
  })

  test('is gone soon after', async () => {
    const { store, redis, key } = await filled({ ...FILL, interval: MILLISECOND })
    await eventually(async () => expect(await redis.exists(key)).toBe(0))
    expect((await store.read(METER)).state).toBeUndefined()
  })

  test('is not written by a read, nor by a refused fill', async () => {
    const { store, redis, key } = await filled({ ...FILL, amount: 10 })
    const before = await redis.getBuffer(key)
    const expiry = await redis.call('PEXPIRETIME', key)
    await store.fill(FILL)
    await store.read(METER)
    expect(await redis.getBuffer(key)).toEqual(before)
    expect(await redis.call('PEXPIRETIME', key)).toBe(expiry)
  })
})

describe('a foreign value', () => {
  const packed = (level: number, at: number, blockedUntil: number, interval = 1) => {
    const value = Buffer.alloc(34)
    value.writeUInt16LE(0x5611)
    for (const [index, number] of [level, at, blockedUntil, interval].entries())
      value.writeDoubleLE(number, 2 + index * 8)
    return value
  }

  test.each<[string, (redis: Redis, key: string) => Promise<unknown>]>([
    ['another type', (redis, key) => redis.rpush(key, 'mine')],
    ['a text', (redis, key) => redis.set(key, 'mine')],
    ['an empty text', (redis, key) => redis.set(key, '')],
    ['a text as long', (redis, key) => redis.set(key, 'x'.repeat(34))],
    ['a level that is no number', (redis, key) => redis.set(key, packed(Number.NaN, 1, 0))],
    ['a level below nothing', (redis, key) => redis.set(key, packed(-1, 1, 0))],
    ['a time without end', (redis, key) => redis.set(key, packed(1, Number.POSITIVE_INFINITY, 0))],
    ['an interval that is no number', (redis, key) => redis.set(key, packed(1, 1, 0, Number.NaN))],
  ])('%s is refused by each verb, and left alone', async (_, put) => {
    const { store, redis, key } = await filled()
    await redis.del(key)
    await put(redis, key)
    const before = await redis.dumpBuffer(key)
    await expect(store.fill(FILL)).rejects.toThrow(ForeignValueError)
    await expect(store.read(METER)).rejects.toThrow(ForeignValueError)
    await expect(store.drain(METER)).rejects.toThrow(ForeignValueError)
    expect(await redis.dumpBuffer(key)).toEqual(before)
  })
})

describe('a Redis in trouble', () => {
  test('whose scripts were flushed gets them again', async () => {
    await using server = await startRedis()
    const store = await opened({ connection: server.url })
    await store.fill(FILL)
    const client = new Redis(server.url)
    onTestFinished(() => client.disconnect())
    await client.script('FLUSH')
    expect(await store.fill(FILL)).toMatchObject({ accepted: true })
    expect((await store.read(METER)).state?.level).toBeCloseTo(2, 3)
  })

  test('that is restarted has the levels that it logged', async () => {
    await using server = await startRedis({ appendonly: 'yes', appendfsync: 'always' })
    const store = await opened({ connection: server.url })
    await store.fill({ ...FILL, amount: 9 })
    await server.restart()
    const verdicts = [await store.fill(FILL), await store.fill(FILL)]
    expect(verdicts.map(({ accepted }) => accepted)).toEqual([true, false])
  })

  test('that is silent is unavailable within two seconds, and no fill is sent twice', async () => {
    await using server = await startRedis()
    const store = await opened({ connection: server.url })
    await store.fill(FILL)
    server.pause()
    const calls = await Promise.all(
      [store.fill(FILL), store.fill(FILL), store.read(METER), store.drain({ ...METER, key: 'other' })].map(
        settled,
      ),
    )
    server.resume()
    for (const error of calls) expect(error).toBeInstanceOf(BackendUnavailableError)
    const { state } = await store.fill(FILL)
    expect(state.level).toBeGreaterThan(1.99)
    expect(state.level).toBeLessThanOrEqual(4)
  })

  test('that recovers after a caller got its error receives nothing that was asked before', async () => {
    await using server = await startRedis()
    await using way = await slowWay(server.url)
    const store = await opened({ connection: way.url })
    const first = settled(store.fill({ ...FILL, amount: 5 }))
    // Each part of the way is within its own patience, all of it is not.
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    way.letGreet()
    expect(await first).toBeInstanceOf(BackendUnavailableError)
    way.letPass()
    const { state } = await store.fill(FILL)
    expect(state.level).toBe(1)
  })

  test('that is gone, or was never there, is unavailable within two seconds; when it comes back, it is available', async () => {
    await using server = await startRedis()
    const store = await opened({ connection: server.url })
    await store.fill(FILL)
    await server.kill()
    const [away, nowhere] = await Promise.all([
      settled(store.fill(FILL)),
      settled((await opened({ connection: '/nowhere/r.sock' })).fill(FILL)),
    ])
    for (const error of [away, nowhere]) expect(error).toBeInstanceOf(BackendUnavailableError)
    await server.restart()
    expect(await store.fill(FILL)).toMatchObject({ accepted: true })
  })

  test('that is full refuses to fill, and still reads and drains', async () => {
    await using server = await startRedis({ maxmemory: '3mb' })
    const store = await opened({ connection: server.url })
    await store.fill(FILL)
    const client = new Redis(server.url)
    onTestFinished(() => client.disconnect())
    await client.config('SET', 'maxmemory', '1')
    await expect(store.fill(FILL)).rejects.toThrow('its memory is full')
    expect((await store.read(METER)).state?.level).toBeGreaterThan(0)
    await store.drain(METER)
    expect((await store.read(METER)).state).toBeUndefined()
  })

  test('that evicts keys is refused: a lost level would let every request in', async () => {
    await using server = await startRedis({ maxmemory: '64mb', policy: 'allkeys-lru' })
    const store = await opened({ connection: server.url })
    await expect(store.fill(FILL)).rejects.toThrow(UnfitRedisError)
    await expect(store.read(METER)).rejects.toThrow(
      'expected maxmemory-policy noeviction, got: "allkeys-lru"',
    )
  })

  test('that was closed throws', async () => {
    const store = await openRedisMeterStore()
    await store.fill(FILL)
    await store.close()
    await store.close()
    await expect(store.fill(FILL)).rejects.toThrow(BackendUnavailableError)
  })
})

test('fifty clients that never stop asking get the capacity and the rate, no more and no less', async () => {
  const [clients, runsFor, capacity, interval] = [50, 1.5 * SECOND, 200, 5 * MILLISECOND]
  const prefix = uniquePrefix()
  const stores = await Promise.all(Array.from({ length: clients }, () => opened({ prefix })))
  const request = { ...FILL, capacity, interval }
  const answers: Filled[] = []
  const { now: start } = await stores[0]!.read(METER)
  const ask = async (store: MeterStore) => {
    for (let now = start; now < start + runsFor; ) {
      const answer = await store.fill(request)
      answers.push(answer)
      now = answer.now
    }
  }
  await Promise.all(stores.map(ask))
  answers.sort((one, other) => one.now - other.now)
  const accepted = answers.filter((answer) => answer.accepted).map(({ now }) => now)
  for (const [index, from] of accepted.entries()) {
    const inWindow = accepted.length - index
    expect(inWindow).toBeLessThanOrEqual(capacity + (accepted.at(-1)! - from) / interval + 1e-6)
  }
  // No fill is rejected while there is room, and leaking makes room.
  expect(accepted.length).toBeGreaterThan(capacity)
  for (const { accepted: isAccepted, state } of answers) {
    if (!isAccepted) expect(state.level).toBeGreaterThan(capacity - 1 - 1e-9)
  }
})

test('levels spread over a cluster, and each is one for all its clients', async () => {
  await using cluster = await startCluster()
  const client = new Cluster([...cluster.nodes])
  onTestFinished(() => client.disconnect())
  const prefix = uniquePrefix()
  const open = () =>
    new Meter('sms', { limits: { '*': '3, 1/h' }, connection: client, prefix, overflow: 'clamp' })
  await using one = open()
  await using other = open()
  for (let n = 0; n < 24; n++) {
    const verdicts = [await one.fill(`customer${n}`, 2), await other.fill(`customer${n}`, 2)]
    expect(verdicts.map(({ accepted, full }) => [accepted, full])).toEqual([
      [true, false],
      [false, true],
    ])
  }
  const sizes = await Promise.all(client.nodes('master').map((node) => node.dbsize()))
  expect(sizes.reduce((sum, size) => sum + size)).toBe(24)
  expect(Math.min(...sizes)).toBeGreaterThan(0)
})

test('meters share their levels if they have the same name, prefix and Redis', async () => {
  const prefix = uniquePrefix()
  const meter = (name: string, of = prefix) => {
    const made = new Meter(name, { limits: { '*': '1, 1/h' }, connection: redisAddress(), prefix: of })
    onTestFinished(() => made.close())
    return made
  }
  expect(await meter('a').fill('k')).toMatchObject({ accepted: true, full: true })
  expect(await meter('a').fill('k')).toMatchObject({ accepted: false })
  expect(await meter('b').fill('k')).toMatchObject({ accepted: true })
  expect(await meter('a', uniquePrefix()).fill('k')).toMatchObject({ accepted: true })
})

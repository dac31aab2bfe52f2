import { describe, expect, test, vi } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { NoLimitError } from '../../src/core/errors.ts'
import { parseLayer } from '../../src/core/layered-book.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { OldRuleBookError } from '../../src/core/rule-errors.ts'
import { bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { RedisBackend } from '../../src/redis/redis-backend.ts'
import { writeBook, writtenBook } from '../../src/redis/rules/book.ts'
import { changeBook, parseBook } from '../../src/redis/rules/stored-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, request } from '../support/backend-driver.ts'
import { eventually } from '../support/patience.ts'
import { connect } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { RedisStage } from './redis-stage.ts'

const texts = (stage: RedisStage) =>
  stage.backend.rules.book.list().map(({ pattern, limit }) => `${pattern}: ${limit.capacity}`)

test('a change by one process governs the others from their next verb on', async () => {
  const prefix = uniquePrefix()
  const one = await RedisStage.open('9, 1/s', { prefix })
  const two = await RedisStage.open('9, 1/s', { prefix })
  await one.backend.rules.change({ kind: 'set', rule: parseRule('*', '1, 1/s') }, at(0))
  expect((await two.admit('x', 0)).admission).toMatchObject({ accepted: true })
  expect((await two.admit('y', 0)).admission).toMatchObject({ accepted: false, capacity: 1 })
  expect(texts(two)).toEqual(['*: 1'])
  await two.backend.rules.change({ kind: 'set', rule: parseRule('a', '3, 1/s') }, at(0))
  expect(await one.backend.verbs.forecast('a', 1, at(0))).toMatchObject({ position: 2 })
  expect(texts(one)).toEqual(['*: 1', 'a: 3'])
  await one.backend.rules.change({ kind: 'unset', pattern: '*' }, at(0))
  await one.backend.rules.change({ kind: 'unset', pattern: 'a' }, at(0))
  await expect(two.admit('z', 0)).rejects.toThrow(NoLimitError)
})

test('a line is opened though Redis refuses once to give the name of the shard', async () => {
  const connection = connect(redisAddress())
  await connection.ready()
  const { commands } = connection
  const ask = commands.hget.bind(commands)
  let refusals = 0
  vi.spyOn(commands, 'hget').mockImplementation(async (key, field) => {
    if (field === 'mark' && refusals++ === 0)
      throw new Error('LOADING Redis is loading the dataset in memory')
    return ask(key, field)
  })
  const stage = await RedisStage.open('9, 1/s', { connection })
  expect(refusals).toBeGreaterThan(1)
  expect(stage.backend.rules.nameOf(0)).toMatch(/\w/)
})

test('a process that only looks fetches the book', async () => {
  const prefix = uniquePrefix()
  const one = await RedisStage.open('9, 1/s', { prefix })
  const two = await RedisStage.open('9, 1/s', { prefix })
  await one.backend.rules.change({ kind: 'set', rule: parseRule('*', '1, 1/s') }, at(0))
  expect(texts(two)).toEqual(['*: 9'])
  await two.backend.follow()
  expect(texts(two)).toEqual(['*: 1'])
})

test('two concurrent changes are both kept', async () => {
  const prefix = uniquePrefix()
  const one = await RedisStage.open('9, 1/s', { prefix })
  const two = await RedisStage.open('9, 1/s', { prefix })
  await Promise.all([
    ...Array.from({ length: 5 }, (_, n) =>
      one.backend.rules.change({ kind: 'set', rule: parseRule(`a/${n}`, `${n + 1}, 1/s`) }, at(0)),
    ),
    ...Array.from({ length: 5 }, (_, n) =>
      two.backend.rules.change({ kind: 'set', rule: parseRule(`b/${n}`, `${n + 1}, 1/s`) }, at(0)),
    ),
  ])
  await Promise.all([one.backend.follow(), two.backend.follow()])
  expect(texts(one)).toHaveLength(11)
  expect(texts(two).sort()).toEqual(texts(one).sort())
})

test('newer code sets newer limits; what was set by hand since stays on top', async () => {
  const prefix = uniquePrefix()
  const older = await RedisStage.open({ '*': '9, 1/s', a: '5, 1/s' }, { prefix })
  await older.backend.rules.change({ kind: 'set', rule: parseRule('a', '4, 1/s') }, at(0))
  const newer = await RedisStage.open({ '*': '8, 1/s', a: '6, 1/s', b: '7, 1/s' }, { prefix })
  expect(texts(newer).sort()).toEqual(['*: 8', 'a: 4', 'b: 7'])
  expect(await older.backend.verbs.forecast('c', 9, at(0))).toMatchObject({
    reason: 'too-costly',
    capacity: 8,
  })
  expect(texts(older).sort()).toEqual(texts(newer).sort())
})

test('code that is rolled back sets its limits again, and reports whose it replaced', async () => {
  const prefix = uniquePrefix()
  const opened = async (limits: Record<string, string>, by: string) => {
    const rules = parseLayer(limits, 'code', by)
    const connection = connect(redisAddress())
    await connection.ready()
    const backend = new RedisBackend({
      name: 'test',
      prefix,
      shards: 2,
      connection,
      rules,
      retention: { jobs: 9, time: 0, most: 90 },
    })
    return { replaced: await backend.open(), backend }
  }
  const first = await opened({ '*': '10, 10/s', a: '1, 1/s' }, 'app:16')
  expect(first.replaced).toEqual([])
  expect((await opened({ '*': '10, 10/s', a: '1, 1/s' }, 'app:16')).replaced).toEqual([])
  const newer = await opened({ '*': '3, 3/s', b: '2, 1/s' }, 'app:17')
  expect(newer.replaced).toEqual([
    {
      origin: 'code',
      by: 'app:16',
      since: expect.any(Number),
      limits: [
        { pattern: '*', before: '10, 10/s', after: '3, 3/s' },
        { pattern: 'a', before: '1, 1/s' },
        { pattern: 'b', after: '2, 1/s' },
      ],
    },
  ])
  await newer.backend.rules.change({ kind: 'set', rule: parseRule('c', '7, 1/s') }, at(0))
  const back = await opened({ '*': '10, 10/s', a: '1, 1/s' }, 'app:16')
  expect(back.replaced).toMatchObject([{ origin: 'code', by: 'app:17' }])
  for (const { backend } of [first, newer, back]) {
    await backend.follow(at(0))
    expect(backend.rules.book.list().map(({ pattern }) => pattern)).toEqual(['*', 'a', 'c'])
    expect(await backend.verbs.forecast('x', 10, at(0))).toMatchObject({ accepted: true })
  }
})

test('processes of two versions side by side change nothing, also when they connect again', async () => {
  const prefix = uniquePrefix()
  const older = await RedisStage.open('9, 1/s', { prefix })
  const newer = await RedisStage.open('8, 1/s', { prefix })
  const before = await newer.dump()
  for (let round = 0; round < 3; round++) {
    await expect(older.backend.open()).rejects.toThrow(OldRuleBookError)
    await newer.backend.open()
    await older.backend.follow(at(round))
    await newer.backend.follow(at(round))
  }
  expect(await newer.dump()).toEqual(before)
  expect(texts(older)).toEqual(['*: 8'])
  // The same code as that in force replaces nothing.
  expect(texts(await RedisStage.open('8, 1/s', { prefix }))).toEqual(['*: 8'])
  expect(await newer.dump()).toEqual(before)
})

test('a rule that is set is never lost to a process that opens at the same time', async () => {
  const prefix = uniquePrefix()
  const one = await RedisStage.open('9, 1/s', { prefix })
  await Promise.all([
    one.backend.rules.change({ kind: 'set', rule: parseRule('a', '3, 1/s') }, at(0)),
    RedisStage.open('8, 1/s', { prefix }),
    RedisStage.open('8, 1/s', { prefix }),
  ])
  await one.backend.follow()
  expect(texts(one).sort()).toEqual(['*: 8', 'a: 3'])
})

describe('a process that sets a limit and dies before the waiting buckets are held to it', () => {
  /** What the dead one did: it wrote the book into the first shard. */
  async function writeNext({ redis, backend }: RedisStage, limit: string): Promise<void> {
    const stored = await redis.get(shardKey(backend.store.tags[0]!, 'book'))
    const book = changeBook(parseBook(stored!), { kind: 'set', rule: parseRule('*', limit) }, at(0))!
    const known = { name: 'shard', hasSeen: true }
    expect(await writeBook(backend.store, 0, writtenBook(book), known)).toMatchObject({
      mark: { version: book.version },
    })
  }

  /** Claims, as a scheduler does, until all buckets are held to the limit. */
  async function claimsUntil(stage: RedisStage, total: number, limit: string): Promise<void> {
    const query = bucketQuerySchema.parse({ limit: 1_000 })
    await eventually(async () => {
      for (let shard = 0; shard < stage.backend.store.shards; shard++) {
        await stage.backend.verbs.claim(
          shard,
          { scheduler: 's2', lookAhead: 0, most: 1, lease: SECOND },
          at(0),
        )
      }
      const { buckets } = await stage.views.buckets(query, at(0))
      expect(buckets).toHaveLength(total)
      expect(new Set(buckets.map((bucket) => bucket.limit))).toEqual(new Set([limit]))
    })
  }

  test.each([1, 3])('the claims of another process do it (shards: %i)', async (shards) => {
    const prefix = uniquePrefix()
    const dead = await RedisStage.open('9, 1/s', { prefix, shards })
    const other = await RedisStage.open('9, 1/s', { prefix, shards })
    const batch = Array.from({ length: 450 }, (_, n) => request(`j${n}`, { key: `k${n}` }))
    await dead.backend.verbs.admitMany(batch, at(0))
    await writeNext(dead, '5, 1/m')
    await claimsUntil(other, 450, '5, 1/m')
    expect(texts(other)).toEqual(['*: 5'])
  })

  test('also in a process that comes later, or in one that knew the book before', async () => {
    const prefix = uniquePrefix()
    const dead = await RedisStage.open('9, 1/s', { prefix })
    const other = await RedisStage.open('9, 1/s', { prefix })
    await dead.lineUp('xy', 0)
    await writeNext(dead, '5, 1/m')
    await other.backend.follow()
    await claimsUntil(other, 1, '5, 1/m')
    await writeNext(dead, '6, 1/m')
    await claimsUntil(await RedisStage.open('9, 1/s', { prefix }), 1, '6, 1/m')
    await eventually(async () => {
      const versions = await other.redis.hmget(shardKey(other.tag, 'meta'), 'book', 'retimed')
      expect(versions).toEqual(['3', '3'])
    })
  })
})

test('a change reaches 500 live buckets', async () => {
  const stage = await RedisStage.open('9, 1/s')
  for (let index = 0; index < 500; index++) await stage.admit(`j${index}`, 0, { key: `k${index}` })
  await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '5, 1/m') }, at(0))
  const { buckets, total } = await stage.views.buckets(
    { prefix: '', minFill: 0, sort: 'key', limit: 1_000 },
    at(0),
  )
  expect(total).toBe(500)
  expect(new Set(buckets.map(({ limit }) => limit))).toEqual(new Set(['5, 1/m']))
})

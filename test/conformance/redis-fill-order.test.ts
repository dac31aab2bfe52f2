import { describe, expect, test } from 'vitest'
import type { BucketView } from '../../src/core/bucket-view.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { type BucketQueryInput, bucketQuerySchema, SORT_COLUMNS } from '../../src/line/bucket-query.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, request } from '../support/backend-driver.ts'
import { bruteForce, everyPage } from '../support/brute-pages.ts'
import { recount } from '../support/recount.ts'
import { RedisStage } from './redis-stage.ts'

const NOW = at(10)

function reader({ views }: RedisStage) {
  return (query: BucketQueryInput) => views.buckets(bucketQuerySchema.parse(query), NOW)
}

/** Many are as full as each other: more than are looked at in one go. */
async function crowd(shards: number): Promise<{ stage: RedisStage; views: BucketView[] }> {
  const stage = await RedisStage.open({ '*': '4, 1/h', 'big/*': '1000, 1/h' }, { shards })
  const keys = Array.from({ length: 900 }, (_, n) => `${['m', 'ms', 'ms/x', 'big', 'z'][n % 5]}/${n}`)
  const jobs = keys.map((key, n) => {
    const cost = key.startsWith('big') ? n + 1 : 1 + (Math.floor(n / 7) % 4)
    return { ...request(`j${n}`, { key, cost }), deadline: Number.POSITIVE_INFINITY }
  })
  await stage.backend.verbs.admitMany([...jobs, { ...request('head'), key: 'ms' }], at(0))
  await stage.backend.verbs.pause('paused', at(0))
  const views = await Promise.all([...keys, 'ms', 'paused'].map((key) => stage.views.inspect(key, NOW)))
  return { stage, views: views.filter((view) => view !== undefined) }
}

const FILTERS: readonly BucketQueryInput[] = [
  {},
  { prefix: 'm' },
  { prefix: 'ms', minFill: 0.5 },
  { prefix: 'ms/x/1' },
  { under: 'ms' },
  { under: 'ms/x', maxFill: 0.5 },
  { pattern: 'big/*', minFill: 0.2, maxFill: 0.7 },
  { state: 'waiting', minFill: 0.75 },
  { state: 'full' },
  { state: 'idle' },
  { state: 'paused' },
  { minOldestWaitMs: 1, prefix: 'z' },
  { prefix: 'z', under: 'big' },
]

describe.each([1, 3])('with %i shards', (shards) => {
  test.each(['fill', '-fill'] as const)(
    'pages by %s, with every filter, equal those made from all views',
    async (sort) => {
      const { stage, views } = await crowd(shards)
      for (const filter of FILTERS) {
        for (const limit of [7, 250]) {
          const asked = { ...filter, sort, limit }
          const expected = bruteForce(views, asked)
          const { views: found, pages } = await everyPage(reader(stage), asked)
          const what = JSON.stringify(asked)
          expect(
            found.map(({ key }) => key),
            what,
          ).toEqual(expected.map(({ key }) => key))
          expect(pages.at(-1), what).toMatchObject({ total: expected.length })
          for (const { total, isAtLeast } of pages) {
            if (isAtLeast) expect(total, what).toBeLessThanOrEqual(expected.length)
            else expect(total, what).toBe(expected.length)
          }
        }
      }
    },
  )

  test('the first page by every column has the buckets that all views have', async () => {
    const { stage, views } = await crowd(shards)
    for (const column of SORT_COLUMNS) {
      for (const sort of [column, `-${column}`] as const) {
        const { buckets, total } = await reader(stage)({ sort, limit: 20 })
        expect(buckets, sort).toEqual(bruteForce(views, { sort }).slice(0, 20))
        expect(total).toBe(902)
      }
    }
  })
})

describe('a line with buckets from a version that does not know the index', () => {
  const ready = async (stage: RedisStage) => expect.poll(() => recount(stage.redis, stage.tag)).toEqual([])

  test('is listed correctly, and the index is filled gradually', async () => {
    const { stage, views } = await crowd(1)
    await stage.redis.del(shardKey(stage.tag, 'fill'))
    const { views: found } = await everyPage(reader(stage), { limit: 300 })
    expect(found).toEqual(bruteForce(views, {}))
    await ready(stage)
    expect((await everyPage(reader(stage), { limit: 300 })).views).toEqual(bruteForce(views, {}))
  })

  test('buckets that are missing from the index, and entries without a bucket', async () => {
    const { stage, views } = await crowd(1)
    const fill = shardKey(stage.tag, 'fill')
    await stage.redis.zrem(fill, 'ms', 'z/4')
    await stage.redis.zadd(fill, 0.9, 'ghost', 1, 'gone', 0.1, 'past')
    const asked = { minFill: 0.25, limit: 1_000 }
    expect((await reader(stage)(asked)).buckets).toEqual(bruteForce(views, asked))
    await ready(stage)
  })

  test('as many entries as buckets, two of them wrong: the page is right, and corrects them', async () => {
    const { stage, views } = await crowd(1)
    const fill = shardKey(stage.tag, 'fill')
    await stage.redis.zrem(fill, 'z/4')
    await stage.redis.zadd(fill, 1, 'ghost', 1, 'z/9')
    const shown = await reader(stage)({ limit: 1_000, minFill: 0.9 })
    const byKey = new Map(views.map((view) => [view.key, view]))
    for (const view of shown.buckets) expect(view).toEqual(byKey.get(view.key))
    expect(await recount(stage.redis, stage.tag)).toEqual([expect.stringContaining('z/4')])
    // With the stranger gone, one is seen to be missing.
    await reader(stage)({ limit: 1_000 })
    await ready(stage)
  })

  test('a change of limits moves every bucket to its new place', async () => {
    const { stage } = await crowd(1)
    await stage.redis.zadd(shardKey(stage.tag, 'fill'), 0.123, 'z/4', 0.123, 'm/0')
    await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '8, 1/h') }, at(20))
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })
})

test('a foreign value hides no other bucket, and asking for it is an error', async () => {
  const stage = await RedisStage.open('4, 1/s')
  for (const key of 'abc') await stage.admit(key, 0, { key })
  await stage.redis.hset(shardKey(stage.tag, 'buckets'), 'b', 'no bucket')
  for (const sort of ['-fill', 'key', '-oldestWaitMs'] as const) {
    const { buckets } = await reader(stage)({ sort })
    expect(buckets.map(({ key }) => key)).toEqual(['a', 'c'])
  }
  expect(await stage.views.tally([[]])).toMatchObject([{ buckets: 2, jobs: 2 }])
  await expect(stage.inspect('b', 0)).rejects.toMatchObject({ code: 'foreign-value' })
})

test('a set that holds foreign values stops no line; asking for its order is an error', async () => {
  const stage = await RedisStage.open('4, 1/s')
  await stage.redis.set(shardKey(stage.tag, 'fill'), 'foreign')
  await stage.lineUp('xy', 0)
  await stage.finish(await stage.run(0), { kind: 'completed', result: undefined }, 0)
  await expect(reader(stage)({})).rejects.toMatchObject({ code: 'foreign-value' })
  expect((await reader(stage)({ sort: 'key' })).total).toBe(1)
})

test('sums over groups of keys', async () => {
  const { stage } = await crowd(3)
  const [all, ms, two, none] = await stage.views.tally([[], ['ms'], ['big', 'z'], ['unknown']])
  expect(all).toMatchObject({
    buckets: 902,
    jobs: 901,
    running: 0,
    retrying: 0,
    states: { paused: 1, idle: 0 },
  })
  expect(ms).toMatchObject({ buckets: 361 })
  expect(two).toMatchObject({ buckets: 360 })
  expect(none).toEqual({
    buckets: 0,
    states: { idle: 0, waiting: 0, full: 0, frozen: 0, paused: 0 },
    waiting: 0,
    jobs: 0,
    retrying: 0,
    running: 0,
  })
})

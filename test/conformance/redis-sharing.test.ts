import { Cluster, Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { IdConflictError } from '../../src/core/errors.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { at, msAt, request } from '../support/backend-driver.ts'
import { connect, openRedisBackend, startHanded, viewsOf } from '../support/redis-driver.ts'
import { startCluster, startRedis, uniquePrefix } from '../support/redis-server.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const everything = bucketQuerySchema.parse({ sort: 'key', limit: 1_000 })
const FAMILIES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

/** What every deployment can do: admit, hand over, start, end, look, hold, change rules, forget. */
async function worksOverShards(backend: Awaited<ReturnType<typeof openRedisBackend>>): Promise<void> {
  const views = viewsOf(backend)
  const keys = FAMILIES.flatMap((family) => [`${family}/1`, `${family}/2`])
  for (const family of FAMILIES)
    expect(backend.store.shardOf(`${family}/1`)).toBe(backend.store.shardOf(`${family}/2/x`))
  expect(new Set(keys.map((key) => backend.store.shardOf(key))).size).toBeGreaterThan(1)
  const batch = keys.map((key, index) => request(`j${index}`, { key }))
  const verdicts = await backend.verbs.admitMany(batch, at(0))
  expect(verdicts.map(({ admission }) => admission)).toMatchObject(
    batch.map(({ id, key }) => ({ accepted: true, id, key, position: 1, departsAt: msAt(0) })),
  )
  expect((await views.buckets(everything, at(0))).buckets.map(({ key }) => key)).toEqual(keys)
  expect(await views.job('j7', at(0))).toMatchObject({ key: keys[7], state: 'waiting' })
  await expect(backend.verbs.admit(request('j7', { key: keys[7], data: '2' }), at(0))).rejects.toThrow(
    IdConflictError,
  )
  expect(await backend.verbs.cancel('j3', at(0))).toMatchObject({ id: 'j3', key: keys[3] })
  await backend.verbs.freeze(keys[4]!, 60_000_000, at(0))
  await backend.rules.change({ kind: 'set', rule: parseRule('*', '5, 1/s') }, at(0))
  expect((await views.buckets(everything, at(0))).buckets.map(({ limit }) => limit)).toEqual(
    keys.map(() => '5, 1/s'),
  )
  const started: string[] = []
  for (let shard = 0; shard < backend.store.shards; shard++) {
    const asked = { scheduler: 's1', lookAhead: 0, most: 200, lease: 30_000_000 }
    const { jobs } = await backend.verbs.claim(shard, asked, at(0))
    for (const { id, epoch } of jobs) {
      await startHanded(backend.verbs, { id, epoch }, at(0), shard)
      started.push(id)
      const [answer] = await backend.verbs.finish(shard, [{ id, epoch, outcome: COMPLETED }], at(0))
      expect(answer).toMatchObject({ isMine: true })
    }
  }
  const others = batch.map(({ id }) => id).filter((id) => id !== 'j3' && id !== 'j4')
  expect(started.sort()).toEqual(others.sort())
  expect(await views.audit()).toEqual({
    admitted: 16,
    waiting: 1,
    handed: 0,
    running: 0,
    retrying: 0,
    ended: 15,
  })
}

test('a shaper over several shards', async () => {
  await worksOverShards(await openRedisBackend({ limits: { '*': '9, 1/s' }, shards: 4 }))
})

test('a shaper on a cluster: every node has its share', async () => {
  await using cluster = await startCluster()
  const client = new Cluster([...cluster.nodes])
  onTestFinished(() => client.disconnect())
  const backend = await openRedisBackend({
    limits: { '*': '9, 1/s' },
    shards: 8,
    connection: connect(client),
  })
  await worksOverShards(backend)
  const sizes = await Promise.all(client.nodes('master').map((node) => node.dbsize()))
  expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(1)
})

describe('two shapers on one Redis', () => {
  test.each([
    ['prefixes', { prefix: uniquePrefix(), name: 'one' }, { prefix: uniquePrefix(), name: 'one' }],
    ['names', { prefix: 'same', name: uniquePrefix() }, { prefix: 'same', name: uniquePrefix() }],
    ['names that look alike', { prefix: 'same:x', name: 'y' }, { prefix: 'same', name: 'x:y' }],
  ])('of other %s know nothing of each other', async (_, first, second) => {
    const one = await openRedisBackend({ limits: { '*': '1, 1/s' }, ...first })
    const two = await openRedisBackend({ limits: { '*': '3, 2/s' }, ...second })
    const [ofOne, ofTwo] = [viewsOf(one), viewsOf(two)]
    const before = await ofTwo.audit()
    await one.verbs.admit(request('x'), at(0))
    expect(await ofTwo.job('x', at(0))).toBeUndefined()
    expect(await ofTwo.audit()).toEqual(before)
    const other = await two.verbs.admit(request('x', { data: '2' }), at(0))
    expect(other.admission).toMatchObject({ accepted: true, position: 1 })
    expect((await one.verbs.admit(request('y'), at(0))).admission).toMatchObject({
      accepted: false,
      capacity: 1,
    })
    await one.verbs.pause('a', at(0))
    expect(await ofTwo.inspect('a', at(0))).toMatchObject({ paused: false, limit: '3, 2/s' })
    await two.verbs.cancel('x', at(0))
    expect(await ofOne.job('x', at(0))).toMatchObject({ state: 'waiting' })
  })

  test('of one name are one: many producers, one line', async () => {
    const prefix = uniquePrefix()
    const stages = await Promise.all([1, 2, 3].map(() => RedisStage.open('100, 10/s', { prefix })))
    const verdicts = await Promise.all(
      Array.from({ length: 150 }, (_, index) => stages[index % 3]!.admit(`j${index}`, 0)),
    )
    const positions = verdicts.flatMap(({ admission }) => (admission.accepted ? [admission.position] : []))
    expect(positions.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
    expect(await stages[0]!.views.audit()).toMatchObject({ admitted: 100, waiting: 100 })
  })

  test('of one name: the same id from two producers at the same time is one job', async () => {
    const prefix = uniquePrefix()
    const stages = await Promise.all([1, 2].map(() => RedisStage.open('100, 10/s', { prefix })))
    const verdicts = await Promise.all(Array.from({ length: 20 }, (_, n) => stages[n % 2]!.admit('x', 0)))
    expect(verdicts.every(({ admission }) => admission.accepted)).toBe(true)
    expect(await stages[0]!.views.audit()).toMatchObject({ admitted: 1, waiting: 1 })
  })
})

test('scripts that are flushed all the time are loaded again', async () => {
  await using server = await startRedis()
  const flusher = new Redis(server.url)
  onTestFinished(() => flusher.disconnect())
  const stage = await RedisStage.open('200, 100/s', { connection: connect(server.url), client: flusher })
  let isOver = false
  let flushes = 0
  const flushing = (async () => {
    for (; !isOver; flushes++) await flusher.script('FLUSH')
  })()
  for (let index = 0; index < 100; index++) {
    await stage.admit(`x${index}`, index, { key: 'other' })
    await stage.backend.verbs.cancel(`x${index}`, at(index))
    await stage.admit(`j${index}`, index)
    await stage.finish(await stage.run(index), COMPLETED, index)
  }
  isOver = true
  await flushing
  expect(flushes).toBeGreaterThan(10)
  expect(await stage.views.audit()).toMatchObject({ waiting: 0, running: 0, handed: 0 })
})

test('a batch of a thousand runs in calls of at most 200, and so does every other script', async () => {
  await using server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const stage = await RedisStage.open('2000, 10/s', { connection: connect(server.url), client })
  await client.config('RESETSTAT')
  const batch = Array.from({ length: 1_000 }, (_, index) => request(`j${index}`))
  await stage.backend.verbs.admitMany(batch, at(0))
  const stats = await client.info('commandstats')
  const calls = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  expect(calls('evalsha')).toBeGreaterThanOrEqual(5)
  expect(calls('evalsha')).toBeLessThanOrEqual(6)
})

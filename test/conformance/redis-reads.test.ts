import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { connect } from '../support/redis-driver.ts'
import { type RedisProcess, startRedis } from '../support/redis-server.ts'
import { RedisStage } from './redis-stage.ts'

/** On a server of its own, which counts only these commands. */
async function aloneOn(server: RedisProcess, limits: string): Promise<RedisStage> {
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  return RedisStage.open(limits, { connection: connect(server.url), client })
}

async function writesSince(redis: Redis): Promise<string[]> {
  const writers = new Set(
    String(await redis.call('COMMAND', 'LIST', 'FILTERBY', 'ACLCAT', 'write')).split(','),
  )
  const stats = await redis.info('commandstats')
  const called = [...stats.matchAll(/^cmdstat_([^:]+):calls=/gm)].map(([, name]) => name!)
  return called.filter((name) => writers.has(name))
}

async function changes(redis: Redis): Promise<string | undefined> {
  return /^rdb_changes_since_last_save:(\d+)/m.exec(await redis.info('persistence'))?.[1]
}

test('a process that only reads writes nothing', async () => {
  await using server = await startRedis()
  const stage = await aloneOn(server, '4, 10/s')
  await stage.lineUp('wxyz', 0)
  const w = await stage.run(0)
  await stage.finish(w, { kind: 'retry', error: 'no', delay: 9_000_000 }, 0)
  await stage.hand(0.1)
  await stage.backend.verbs.pause('b', at(0))
  const [dump, count] = [await stage.dump(), await changes(stage.redis)]
  await stage.redis.config('RESETSTAT')
  const looks = async (seconds: number) => {
    for (const cost of [1, 2, 9]) await stage.backend.verbs.forecast('a', cost, at(seconds))
    await stage.backend.verbs.forecast('never used', 1, at(seconds))
    for (const id of ['w', 'x', 'y', 'unknown']) await stage.views.job(id, at(seconds))
    for (const key of ['a', 'b', 'never used']) await stage.inspect(key, seconds)
    for (const id of ['w', 'x', 'y', 'unknown']) await stage.views.facts(id, at(seconds))
    for (const key of ['a', 'never used']) await stage.views.line(key, 200, at(seconds))
    await stage.views.flow(at(seconds))
    await stage.list(seconds)
    await stage.views.audit()
    await stage.backend.follow()
    await stage.backend.store.time(0)
  }
  for (const seconds of [0.1, 5, 1e6]) await looks(seconds)
  expect(await writesSince(stage.redis)).toEqual([])
  expect(await changes(stage.redis)).toBe(count)
  expect(await stage.dump()).toEqual(dump)
})

test('a rejection writes nothing but its count', async () => {
  await using server = await startRedis()
  const stage = await aloneOn(server, '1, 1/s')
  await stage.lineUp('w', 0)
  await stage.run(0)
  await stage.lineUp('x', 0)
  const count = await changes(stage.redis)
  await stage.redis.config('RESETSTAT')
  expect((await stage.admit('y', 0)).admission).toMatchObject({ accepted: false, reason: 'full' })
  expect((await stage.admit('y', 0, { cost: 2, key: 'new' })).admission).toMatchObject({
    reason: 'too-costly',
  })
  expect((await stage.admit('x', 0)).admission).toMatchObject({ replayed: true })
  await expect(stage.admit('x', 0, { data: '2' })).rejects.toThrow('id')
  expect(await stage.backend.verbs.cancel('unknown', at(0))).toBeUndefined()
  expect(await stage.gate({ id: 'x', epoch: 7 }, 0)).toEqual({ kind: 'stale' })
  expect(await writesSince(stage.redis)).toEqual(['hset'])
  expect(await changes(stage.redis)).toBe(`${Number(count) + 2}`)
  expect(await stage.redis.hget(shardKey(stage.tag, 'meta'), 'rejected')).toBe('2')
})

test('a shaper that was never used leaves only its rule book and its numbers', async () => {
  await using server = await startRedis()
  const stage = await aloneOn(server, '1, 1/s')
  await stage.backend.verbs.forecast('a', 1, at(0))
  await stage.backend.verbs.resume('a', at(0))
  await stage.claim(0)
  const names = Object.keys(await stage.dump()).map((name) => name.slice(stage.tag.length))
  expect(names.filter((name) => !name.startsWith(':op:')).sort()).toEqual([':book', ':meta'])
})

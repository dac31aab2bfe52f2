import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { RedisStage } from '../conformance/redis-stage.ts'
import { at, request } from '../support/backend-driver.ts'
import { widen } from '../support/deep-line.ts'
import { DEEP_VERBS, openDeepLines } from '../support/deep-verbs.ts'
import { eventually } from '../support/patience.ts'
import { recount } from '../support/recount.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { callsOf, measureGrowth, runsOf, TRIES } from './growth.ts'
import { inShortPasses } from './short-passes.ts'
import { SHORTEST_LINE } from './subjects.ts'
import config from './vitest.config.ts'
import { LOGS_CALLS } from './work.ts'

const ROOT = join(import.meta.dirname, '../..')

/** This file, what it imports, and what that imports. */
function withImports(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found
  found.add(path)
  for (const [, to] of readFileSync(path, 'utf8').matchAll(/ from '(\.[^']+\.ts)'/g)) {
    withImports(join(dirname(path), to!), found)
  }
  return found
}

const namesIn = (path: string, call: string) =>
  [...readFileSync(path, 'utf8').matchAll(new RegExp(`\\b${call}\\('(\\w+)'`, 'g'))].map(([, name]) => name!)

test('the long run provides what its files inject', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts'))
  const imported = files.flatMap((name) => [...withImports(join(import.meta.dirname, name))])
  const injected = new Set(imported.flatMap((path) => namesIn(path, 'inject')))
  const setups = [config.test?.globalSetup ?? []].flat()
  const provided = setups.flatMap((path) => namesIn(join(ROOT, path), 'provide'))
  expect([...injected].sort()).toEqual(provided.sort())
})

test('a verb for deep lines finds its job as often as the long run calls it', async () => {
  const server = await startRedis()
  const redis = new Redis(server.url)
  onTestFinished(() => redis.disconnect())
  const lines = await openDeepLines(server.url, redis, SHORTEST_LINE, SHORTEST_LINE)
  for (const verb of Object.values(DEEP_VERBS)) {
    for (let n = 0; n < callsOf(TRIES); n++) await verb(lines)
  }
  await lines.stage.balances()
})

test('a size that cannot be measured leaves no client behind', async () => {
  let client: Redis | undefined
  const failing = measureGrowth(
    async (_url, redis) => {
      client = redis
      throw new Error('planted')
    },
    { sizes: [1], tries: 0 },
  )
  await expect(failing).rejects.toThrow('planted')
  await eventually(() => expect(client!.status).toBe('end'))
})

test('a subject that calls scripts 500 times is timed no more', async () => {
  const server = await startRedis({ config: LOGS_CALLS })
  const redis = new Redis(server.url)
  onTestFinished(() => redis.disconnect())
  const sha = String(await redis.script('LOAD', "for n = 1, 200 do redis.call('GET', KEYS[1]) end"))
  const act = async () => {
    for (let n = 0; n < 300; n++) await redis.evalsha(sha, 1, 'some')
  }
  const runs = await runsOf(act, { redis, scripts: new Map([['planted', { sha }]]), tries: 7 })
  expect(runs.map((run) => [...run.keys()])).toEqual([['planted'], ['planted']])
})

test('of a long pass over all buckets the pages at both ends are read, and of a short one all', async () => {
  const server = await startRedis()
  const redis = new Redis(server.url)
  onTestFinished(() => redis.disconnect())
  const stage = await RedisStage.open('9, 1/s', { client: redis, connection: connect(server.url) })
  await stage.backend.verbs.admit(request('j0', { key: 'k/0' }), at(0))
  await widen(stage.redis, stage.tag, { key: 'k/', id: 'j', count: 20_000, now: at(0) })
  const seen = (buckets: number) =>
    inShortPasses(buckets, async () => {
      const [inTally] = await stage.views.tally([[]])
      const { waiting } = await stage.views.audit()
      let inSurvey = 0
      for await (const page of stage.views.survey()) inSurvey += page.length
      const query = bucketQuerySchema.parse({ sort: 'key' })
      const { total } = await stage.views.buckets(query, at(1))
      return [inTally!.buckets, waiting, inSurvey, total]
    })
  for (const count of await seen(20_000)) {
    expect(count).toBeGreaterThan(6_000)
    expect(count).toBeLessThan(13_000)
  }
  expect(await seen(1_000)).toEqual([20_000, 20_000, 20_000, 20_000])
})

test('buckets that are added in bulk are those that would have been admitted', async () => {
  const added = await RedisStage.open('9, 1/s')
  const admitted = await RedisStage.open('9, 1/s')
  const jobs = Array.from({ length: 450 }, (_, n) => request(`j${n}`, { key: `k/${n}` }))
  await added.backend.verbs.admitMany(jobs.slice(0, 1), at(0))
  await widen(added.redis, added.tag, { key: 'k/', id: 'j', count: 450, now: at(0) })
  for (let from = 0; from < 450; from += 150)
    await admitted.backend.verbs.admitMany(jobs.slice(from, from + 150), at(0))
  const seen = async (stage: RedisStage) => {
    const query = bucketQuerySchema.parse({ limit: 1_000, sort: 'key' })
    const { buckets } = await stage.views.buckets(query, at(1))
    const facts = await Promise.all(['j0', 'j1', 'j449'].map((id) => stage.views.job(id, at(1))))
    const { jobs } = await stage.claim(0)
    return { buckets, facts, claimed: jobs.length }
  }
  expect(await seen(added)).toEqual(await seen(admitted))
  for (const stage of [added, admitted]) expect(await recount(stage.redis, stage.tag)).toEqual([])
})

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { ScriptCalls } from '../../src/redis/scripts/script-calls.ts'
import { RedisStage } from '../conformance/redis-stage.ts'
import { at, request } from '../support/backend-driver.ts'
import { widen } from '../support/deep-line.ts'
import { DEEP_VERBS, openDeepLines } from '../support/deep-verbs.ts'
import { eventually } from '../support/patience.ts'
import { recount } from '../support/recount.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { callsOf, measureGrowth, runsOf, TRIES } from './growth.ts'
import { SHORTEST_LINE } from './subjects.ts'
import config from './vitest.config.ts'
import { EntryCounter, LOGS_CALLS } from './work.ts'

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

/** A script that calls 200 commands and as many as its argument says, which is done 600 times: from 201 to 800 commands. */
async function manyCalls() {
  const server = await startRedis({ config: LOGS_CALLS })
  const redis = new Redis(server.url)
  onTestFinished(() => redis.disconnect())
  const text = "#!lua\nfor n = 1, 200 + ARGV[1] do redis.call('GET', KEYS[1]) end"
  const sha = String(await redis.script('LOAD', text))
  const script = { verb: 'planted', sha, text, isOfShard: false, isBinary: false, parse: () => undefined }
  const connection = connect(server.url)
  await connection.ready()
  const calls = new ScriptCalls(connection, 'test')
  const act = async () => {
    for (let n = 1; n <= 600; n++) await calls.run(script, 'some', [n])
  }
  return { redis, scripts: new Map([['planted', { sha }]]), act }
}

const twenty = (from: number) => Array.from({ length: 20 }, (_, index) => from + index)

test.each([
  ['all are shown', 0],
  ['those in the middle are not shown', 600],
])('of many calls the first twenty and the last twenty are counted: %s', async (_, expected) => {
  const { redis, scripts, act } = await manyCalls()
  const works = await new EntryCounter(redis, scripts).during(act, expected)
  expect(works.map(({ cost }) => cost)).toEqual([...twenty(201), ...twenty(781)])
})

test('a subject that calls scripts 500 times is timed no more', async () => {
  const { redis, scripts, act } = await manyCalls()
  const { runs, calls } = await runsOf(act, { redis, scripts, tries: 7 })
  expect([runs.map((run) => [...run.keys()]), calls]).toEqual([[['planted']], 600])
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

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { DEEP_VERBS, openDeepLines } from '../support/deep-verbs.ts'
import { eventually } from '../support/patience.ts'
import { startRedis } from '../support/redis-server.ts'
import { callsOf, measureGrowth, runsOf, TRIES } from './growth.ts'
import { SHORTEST_LINE } from './subjects.ts'
import config from './vitest.config.ts'
import { EntryCounter, LOGS_EACH_CALL } from './work.ts'

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

/** A script that calls as many commands as its argument says, 300 times: from 1 to 300. */
async function manyCalls() {
  const server = await startRedis({ config: LOGS_EACH_CALL })
  const redis = new Redis(server.url)
  onTestFinished(() => redis.disconnect())
  const text = "for n = 1, ARGV[1] do redis.call('GET', KEYS[1]) end"
  const sha = String(await redis.script('LOAD', text))
  const act = async () => {
    for (let n = 1; n <= 300; n++) await redis.evalsha(sha, 1, 'some', n)
  }
  return { redis, scripts: new Map([['planted', { sha }]]), act }
}

test('of many calls the first hundred and the last hundred are counted', async () => {
  const { redis, scripts, act } = await manyCalls()
  const counter = await EntryCounter.open(redis, scripts)
  onTestFinished(() => counter.close())
  const works = await counter.during(act)
  const hundred = (from: number) => Array.from({ length: 100 }, (_, index) => from + index)
  expect(works.map(({ cost }) => cost)).toEqual([...hundred(1), ...hundred(201)])
})

test('a subject that calls scripts 500 times is timed no more', async () => {
  const { redis, scripts, act } = await manyCalls()
  const runs = await runsOf(act, { redis, scripts, tries: 7 })
  expect(runs.map((run) => [...run.keys()])).toEqual([['planted'], ['planted']])
})

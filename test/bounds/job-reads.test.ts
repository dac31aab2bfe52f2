import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { at } from '../support/backend-driver.ts'
import { type DeepLines, openDeepLines } from '../support/deep-verbs.ts'
import { startRedis } from '../support/redis-server.ts'
import { exponentOf } from './exponent.ts'
import { EntryCounter } from './work.ts'

const SIZES = process.env['BOUNDS'] === 'long' ? [1_000, 10_000, 100_000, 400_000] : [1_000, 10_000, 40_000]
/** Without the floor of the other scripts: these do little in any line. */
const MOST_GROWTH = 0.15
/** Two blocks of 256 are looked through, and 64 blocks are counted. */
const MOST = 2 * 256 + 2 * 64 + 50

const VERBS: Readonly<Record<string, (lines: DeepLines, id: string) => Promise<unknown>>> = {
  job: ({ stage }, id) => stage.views.job(id, at(10)),
  explain: ({ stage }, id) => stage.views.facts(id, at(10)),
  cancel: ({ stage }, id) => stage.backend.verbs.cancel(id, at(10)),
}

test('looking up, explaining and cancelling a job on Redis take the same work in a line of any length', async () => {
  const measured = new Map(Object.keys(VERBS).map((verb) => [verb, [] as (readonly [number, number])[]]))
  for (const size of SIZES) {
    const server = await startRedis()
    const redis = new Redis(server.url)
    onTestFinished(() => redis.disconnect())
    const lines = await openDeepLines(server.url, redis, size, 10)
    for (const [verb, act] of Object.entries(VERBS)) {
      // The first call loads its script.
      await act(lines, 'a0')
      const counter = new EntryCounter(redis, allScripts())
      const works = await counter.during(async () => {
        for (const part of [0.05, 0.5, 0.999]) await act(lines, `a${Math.floor(part * size)}`)
      })
      const costs = works.filter((work) => work.verb === verb).map(({ cost }) => cost)
      measured.get(verb)!.push([size, Math.max(...costs)])
    }
    await lines.stage.balances()
  }
  const seen = JSON.stringify([...measured])
  expect(
    [...measured].filter(([, points]) => exponentOf(points) > MOST_GROWTH),
    seen,
  ).toEqual([])
  expect(Math.max(...[...measured.values()].flat().map(([, cost]) => cost)), seen).toBeLessThan(MOST)
})

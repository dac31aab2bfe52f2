import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { startRedis } from '../support/redis-server.ts'
import { growBuckets } from './subjects.ts'
import { EntryCounter } from './work.ts'

async function openBuckets(count: number) {
  const server = await startRedis()
  const redis = new Redis(server.url)
  const { lines, close } = await growBuckets(server.url, redis, count)
  const counter = new EntryCounter(redis, allScripts())
  onTestFinished(async () => {
    await close()
    redis.disconnect()
  })
  return { lines, counter }
}

test('an audit looks at no more than about 200 buckets a call', async () => {
  const { lines, counter } = await openBuckets(1_000)
  const calls = await counter.during(() => lines.stage.views.audit())
  expect(calls.length).toBeGreaterThanOrEqual(4)
  // A call for 1,000 took 6,000 commands, and more than ten milliseconds.
  expect(Math.max(...calls.map(({ cost }) => cost))).toBeLessThan(2_000)
})

test('a tally of many groups looks at few buckets a call, and counts all', async () => {
  const { lines, counter } = await openBuckets(300)
  const groups = Array.from({ length: 400 }, (_, n) => [`more/${n}`])
  let sums: readonly { readonly buckets: number }[] = []
  const calls = await counter.during(async () => {
    sums = await lines.stage.views.tally(groups)
  })
  // 200 buckets, each compared with 400 names, took 50 milliseconds.
  expect(Math.max(...calls.map(({ cost }) => cost))).toBeLessThan(20)
  expect(sums.map(({ buckets }) => buckets)).toEqual(groups.map((_, n) => (n < 300 ? 1 : 0)))
})

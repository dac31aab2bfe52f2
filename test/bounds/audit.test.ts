import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { startRedis } from '../support/redis-server.ts'
import { growBuckets } from './subjects.ts'
import { EntryCounter } from './work.ts'

test('an audit looks at no more than about 200 buckets a call', async () => {
  const server = await startRedis()
  const redis = new Redis(server.url)
  const { lines, close } = await growBuckets(server.url, redis, 1_000)
  const counter = await EntryCounter.open(redis, allScripts())
  onTestFinished(async () => {
    counter.close()
    await close()
    redis.disconnect()
  })
  const calls = await counter.during(() => lines.stage.views.audit())
  expect(calls.length).toBeGreaterThanOrEqual(4)
  // A call for 1,000 took 6,000 commands, and more than ten milliseconds.
  expect(Math.max(...calls.map(({ cost }) => cost))).toBeLessThan(2_000)
})

import fc from 'fast-check'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { bucketQuerySchema } from '../../../src/line/bucket-query.ts'
import type { RedisBackend } from '../../../src/redis/redis-backend.ts'
import { atFileEnd } from '../../support/at-file-end.ts'
import { at } from '../../support/backend-driver.ts'
import { limit, perform, steps } from '../../support/line-steps.ts'
import { LineTrace } from '../../support/line-trace.ts'
import { connect, openRedisBackend, viewsOf } from '../../support/redis-driver.ts'
import { startRedis } from '../../support/redis-server.ts'
import { storeRuns } from './runs.ts'
import { SimRedis } from './sim-redis.ts'
import { REAL_HOST } from './tcp-bridge.ts'
import { Tee } from './tee.ts'

/** Calls every view that reads a line, a job or all buckets. */
async function look(backend: RedisBackend, trace: LineTrace): Promise<void> {
  const { now } = trace
  const views = viewsOf(backend)
  const id = trace.jobs[trace.jobs.length - 1]?.id ?? 'none'
  await views.job(id, now)
  await views.buckets(bucketQuerySchema.parse({ sort: 'key' }), now)
  await views.buckets(bucketQuerySchema.parse({ sort: 'fill' }), now)
  await views.audit()
  await views.facts(id, now)
  await views.flow(now)
  for (const key of trace.keys) {
    await views.inspect(key, now)
    await views.line(key, 10, now)
    await views.recent(key, now)
    await backend.verbs.forecast(key, 1, now)
  }
}

test('random traces of all verbs and views get from ours each reply of a real Redis', async () => {
  const { url } = await startRedis()
  let replies = 0
  await fc.assert(
    fc.asyncProperty(limit, steps, async (first, happenings) => {
      const tee = new Tee(url, new SimRedis(REAL_HOST))
      await tee.listen()
      const connection = connect(tee.path)
      const redis = new Redis(tee.path)
      atFileEnd(() => redis.disconnect())
      try {
        await redis.script('FLUSH')
        const backend = await openRedisBackend({ limits: { '*': first }, connection, openedAt: at(0) })
        const trace = new LineTrace(backend, redis, first)
        for (const [index, { lapse, verb }] of happenings.entries()) {
          trace.now += lapse
          await perform(trace, verb)
          if (index % 10 === 0) await look(backend, trace)
        }
        await trace.counts()
        await trace.drain()
        const { count, differences } = tee.compared()
        expect(differences).toEqual([])
        replies += count
      } finally {
        redis.disconnect()
        await connection.close()
        tee.close()
      }
    }),
    { ...storeRuns(25), interruptAfterTimeLimit: 120_000 },
  )
  expect(replies).toBeGreaterThan(1_000)
})

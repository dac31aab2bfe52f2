import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { HOUR } from '../../src/core/duration.ts'
import { bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { at, request } from '../support/backend-driver.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { readsDuring } from '../support/script-reads.ts'
import { RedisStage } from './redis-stage.ts'

const BUCKETS = 100
const RETRIES = 25

/** Many buckets in which many jobs have failed and wait to be tried again; on a server of its own. */
async function afterAnOutage(): Promise<RedisStage> {
  const server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(async () => {
    client.disconnect()
    await server.stop()
  })
  const stage = await RedisStage.open('99, 20/s', { connection: connect(server.url), client })
  const keys = Array.from({ length: BUCKETS }, (_, n) => `k${n}`)
  for (let n = 0; n < RETRIES; n++) {
    const asked = keys.map((key) => ({ ...request(`${key}-${n}`), key, deadline: Number.POSITIVE_INFINITY }))
    await stage.backend.verbs.admitMany(asked, at(n))
    const jobs = await stage.hand(n)
    const requests = jobs.map((job) => ({
      ...job,
      worker: 'w',
      lead: 0,
      error: 0,
      lease: HOUR,
      hasData: false,
    }))
    await stage.backend.verbs.gate(0, requests, at(n))
    const outcome = { kind: 'retry', error: 'no', delay: HOUR } as const
    await stage.backend.verbs.finish(
      0,
      jobs.map((job) => ({ ...job, startedAt: at(n), outcome })),
      at(n),
    )
  }
  expect(await stage.views.audit()).toMatchObject({ retrying: BUCKETS * RETRIES })
  return stage
}

test('no script reads more than some hundred jobs, however many buckets and retries there are', async () => {
  const stage = await afterAnOutage()
  const found = new Set<string>()
  const survey = await readsDuring(stage.redis, async () => {
    for await (const page of stage.views.survey()) {
      for (const { key, retrying } of page) if (retrying === RETRIES) found.add(key)
    }
  })
  expect(found.size).toBe(BUCKETS)
  expect(survey.largest).toBeLessThan(1_200)
  for (const query of [
    { sort: '-oldestWaitMs' },
    { sort: 'key', minOldestWaitMs: 1_000 },
    { sort: '-fill', minOldestWaitMs: 1_000 },
  ]) {
    const walk = await readsDuring(stage.redis, async () => {
      const { total } = await stage.views.buckets(
        bucketQuerySchema.parse({ ...query, limit: 5 }),
        at(RETRIES + 9),
      )
      expect(total).toBe(BUCKETS)
    })
    expect(walk.largest).toBeLessThan(1_200)
  }
})

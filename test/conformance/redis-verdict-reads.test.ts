import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { MILLISECOND, SECOND } from '../../src/core/duration.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at, request } from '../support/backend-driver.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { readsDuring } from '../support/script-reads.ts'
import { RedisStage } from './redis-stage.ts'

const LENGTH = 3_000
const LINES = {
  'of jobs that cost 1 each': { cost: 1, retries: 0 },
  'of jobs that cost 3 each': { cost: 3, retries: 0 },
  'with a retry in it': { cost: 1, retries: 1 },
  'of jobs that cost 3 each, with a retry': { cost: 3, retries: 1 },
  'with 150 retries that are ready': { cost: 2, retries: 150 },
} as const

/** On a server of its own, where no other script is counted. */
async function fullLine({ cost, retries }: { readonly cost: number; readonly retries: number }) {
  const server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(async () => {
    client.disconnect()
    await server.stop()
  })
  const limits = `${LENGTH * cost}, 1000/s`
  const stage = await RedisStage.open(limits, { connection: connect(server.url), client })
  const running: HandedJob[] = []
  for (let n = 0; n < retries; n++) {
    await stage.admit(`r${n}`, n / 100, { cost })
    running.push(await stage.run(n / 100))
  }
  for (const job of running)
    await stage.finish(job, { kind: 'retry', error: 'no', delay: 5 * MILLISECOND }, 2)
  const asked = Array.from({ length: LENGTH - retries }, (_, n) => ({
    ...request(`j${n}`, { cost }),
    deadline: Number.POSITIVE_INFINITY,
  }))
  const admitted = await stage.backend.verbs.admitMany(asked, at(3))
  expect(admitted.every(({ admission }) => admission.accepted)).toBe(true)
  return stage
}

test.each(Object.entries(LINES))('a refusal reads a few jobs of a long line %s', async (_, kind) => {
  const stage = await fullLine(kind)
  const few = kind.retries > 100 ? 250 : 60
  const refusal = await readsDuring(stage.redis, () => stage.admit('new', 4, kind))
  expect(refusal.entries).toBeLessThan(few)
  expect((await stage.admit('new', 4, kind)).admission).toMatchObject({ accepted: false, reason: 'full' })
  // What a call has read of the retries it reads once.
  const asked = Array.from({ length: 100 }, (_, n) => ({ ...request(`new${n}`, kind), deadline: SECOND }))
  const many = await readsDuring(stage.redis, () => stage.backend.verbs.admitMany(asked, at(4)))
  expect(many.entries).toBeLessThan(few + 100 * 30)
})

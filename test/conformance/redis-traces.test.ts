import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

test('the trace of a job outlives its retries, a freeze, and workers that die', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.admit('x', 0, { traceparent: TRACE, data: '"with \\u0000 in it"' })
  const isGranted = { kind: 'granted', job: { id: 'x', traceparent: TRACE, data: '"with \\u0000 in it"' } }
  const next = async (seconds: number, attempt: number) => {
    const [x] = await stage.hand(seconds)
    expect(await stage.gate(x!, seconds)).toMatchObject(isGranted)
    expect(await stage.start(x!, seconds)).toBe(true)
    expect((await stage.views.job('x', at(seconds)))?.attempt).toBe(attempt)
    return x!
  }
  await stage.finish(await next(0, 1), { kind: 'retry', error: 'as planned', delay: SECOND }, 0.5)
  await stage.finish(await next(2, 2), { kind: 'freeze', duration: 5 * SECOND }, 2.5)
  await next(8, 2)
  expect(await stage.recover(38)).toMatchObject([{ id: 'x', crashed: true, failed: false }])
  await next(38, 2)
})

test('a job without one takes no room for it', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.admit('x', 0)
  await stage.admit('y', 0, { traceparent: TRACE })
  const sizeOf = (id: string) => stage.redis.hstrlen(shardKey(stage.tag, 'jobs'), id)
  expect((await sizeOf('y')) - (await sizeOf('x'))).toBe(TRACE.length + 1)
})

test('a record whose trace was cut off is a foreign value', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.admit('x', 0, { traceparent: TRACE })
  const jobs = shardKey(stage.tag, 'jobs')
  const raw = (await stage.redis.hgetBuffer(jobs, 'x'))!
  await stage.redis.hset(jobs, 'x', raw.subarray(0, raw.indexOf('-01')))
  await expect(stage.views.job('x', at(0))).rejects.toMatchObject({ code: 'foreign-value' })
})

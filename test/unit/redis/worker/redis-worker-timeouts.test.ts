import { expect, test } from 'vitest'
import { RedisWorkerStage } from './redis-worker-stage.ts'

const BACKOFF = { type: 'fixed', delayMs: 500, maxDelayMs: 500, jitter: 0 } as const
const settings = (timeoutMs: number) => ({ attempts: 1, backoff: BACKOFF, timeoutMs }) as const

test('a handler takes as long as its job allows, and no longer than its worker does', async () => {
  const stage = await new RedisWorkerStage(
    () => new Promise(() => undefined),
    10,
    0,
    false,
    1_000,
    5_000,
  ).open()
  stage.deliver(stage.store.hand('short', 1, { settings: settings(2_000) }))
  stage.deliver(stage.store.hand('long', 1, { settings: settings(3_600_000) }))
  await stage.pass(1_900)
  expect(stage.names('failed')).toEqual([])
  await stage.pass(200)
  expect(stage.names('failed')).toEqual(['short1'])
  await stage.pass(2_800)
  expect(stage.names('failed')).toEqual(['short1'])
  await stage.pass(200)
  expect(stage.names('failed')).toEqual(['short1', 'long1'])
  await stage.close()
})

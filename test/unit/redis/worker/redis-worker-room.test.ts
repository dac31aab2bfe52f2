import { expect, test } from 'vitest'
import type { Delivery } from '../../../../src/redis/transport/transport.ts'
import { RedisWorkerStage } from './redis-worker-stage.ts'

/** Four handlers, and places for 64 buckets more: half of them for those that wait for a handler. */
const HANDLERS = 4
const PLACES = 68
const ROOM = 32

/** A worker whose handlers never end for `slow`, and at once for others. */
function stageOf(): RedisWorkerStage {
  const handler = ({ key }: { key: string }) => (key.startsWith('slow') ? new Promise(() => undefined) : 1)
  return new RedisWorkerStage(handler, HANDLERS, 0, false, PLACES)
}

const slowJobs = (stage: RedisWorkerStage, count: number): Delivery[] =>
  Array.from({ length: count }, (_, n) => stage.store.hand(`slow/${n}`)[0]!)

/** How long those that were given back stay away, in milliseconds. */
function away(stage: RedisWorkerStage): number[] {
  return stage.store.finished.flatMap(([, { outcome }]) =>
    outcome.kind === 'back' ? [(outcome.delay ?? 0) / 1_000] : [],
  )
}

test('jobs of a segment that has no handler do not keep the deliveries of another from the gate', async () => {
  const stage = await stageOf().open()
  stage.deliver(stage.store.hand('calm', 1))
  await stage.pass(20)
  stage.deliver(slowJobs(stage, 400))
  stage.deliver(stage.store.hand('quick', 1))
  await stage.pass(200)
  expect(stage.names('completed')).toEqual(['calm1', 'quick1'])
  expect(away(stage)).toHaveLength(400 - HANDLERS / 2 - ROOM)
  // One comes every five milliseconds, as far as a second goes.
  for (const [n, ms] of away(stage).entries()) {
    expect(ms).toBeLessThanOrEqual(Math.min(1_000, 5 * n))
    expect(ms).toBeGreaterThanOrEqual(Math.min(800, 5 * n - 200))
  }
  for (let n = 0; n < 20; n++) {
    stage.deliver(stage.store.hand(`quick/${n}`, 1))
    await stage.pass(20)
    expect(stage.names('completed')).toHaveLength(3 + n)
  }
  await stage.close(100, { drainMs: 10 })
})

test('a job that finds no handler for a second goes back; where the worker closes, another may have it at once', async () => {
  const stage = await stageOf().open()
  stage.deliver(slowJobs(stage, HANDLERS + 3))
  await stage.pass(900)
  expect(away(stage)).toEqual([])
  await stage.pass(200)
  expect(away(stage)).toEqual([0, 5, 10])
  stage.deliver(stage.store.hand('slow/more', 1))
  await stage.pass(10)
  await stage.close(100, { drainMs: 10 })
  expect(away(stage)).toEqual([0, 5, 10, 0])
})

test('a worker that gave a job back because its handlers are stuck leaves deliveries to others for a time', async () => {
  const stage = await stageOf().open()
  stage.deliver(slowJobs(stage, HANDLERS))
  await stage.pass(600)
  stage.deliver(stage.store.hand('quick', 1))
  await stage.pass(10)
  expect(away(stage)).toEqual([0])
  stage.forgotten.length = 0
  stage.deliver(stage.store.hand('other', 1))
  await stage.pass(100)
  expect(stage.forgotten).toEqual([])
  await stage.pass(600)
  expect(stage.forgotten).toEqual(['other1'])
  stage.deliver(stage.store.hand('third', 1))
  stage.deliver(stage.store.hand('fourth', 1))
  await stage.close(100, { drainMs: 10 })
  expect(stage.forgotten).toEqual(['other1', 'third1', 'fourth1'])
})

import { expect, test } from 'vitest'
import { neverSettles, Stage } from '../../support/stage.ts'
import { RedisWorkerStage } from '../redis/worker/redis-worker-stage.ts'

const HANDLERS = 10
const TAKES_MS = 5_000

/** By how much each start of the key was later than one interval after the one before, in milliseconds. */
const lateness = (starts: readonly number[], intervalMs: number) =>
  starts.slice(1).map((start, index) => Math.round(start - starts[index]! - intervalMs))

test('in memory a key whose handlers take five seconds leaves handlers to another key', async () => {
  const stage = new Stage({ slow: '1000, 10/s', calm: '1000, 1/s' })
  stage.shaper.work(() => stage.sleep(TAKES_MS), { concurrency: HANDLERS })
  await stage.fill('calm', 30)
  await stage.fill('slow', 900)
  await stage.pass(30_000)
  const calm = stage.startsOf('calm')
  // Until its share is its own it once waits for one handler of the other to end.
  expect(calm.length).toBeGreaterThanOrEqual(29)
  expect(lateness(calm, 1_000).filter((ms) => ms > 0)).toEqual([1_000])
  // Nor does it stop: what the other one leaves is its own.
  expect(stage.startsOf('slow').length).toBeGreaterThanOrEqual(25)
  await stage.close({ drainMs: 0 })
})

test('in memory a key that comes later waits for one handler to end, and then for none', async () => {
  const stage = new Stage({ slow: '1000, 10/s', calm: '1000, 1/s' })
  stage.shaper.work(() => stage.sleep(TAKES_MS), { concurrency: HANDLERS })
  await stage.fill('slow', 900)
  await stage.pass(7_300)
  expect(stage.startsOf('slow')).toHaveLength(20)
  await stage.fill('calm', 50)
  await stage.pass(40_000)
  const calm = stage.startsOf('calm')
  expect(calm[0]).toBeLessThanOrEqual(7_300 + TAKES_MS)
  expect(calm.length).toBeGreaterThanOrEqual(33)
  await stage.close({ drainMs: 0 })
})

test('in memory a key that is alone keeps its rate with every handler', async () => {
  const stage = new Stage('1000, 10/s')
  stage.shaper.work(() => stage.sleep(999), { concurrency: HANDLERS })
  await stage.fill('k', 200)
  await stage.pass(20_000)
  expect(stage.startsOf('k')).toHaveLength(200)
  await stage.close({ drainMs: 0 })
})

test('in memory a key whose handlers never settle takes no more than leaves one free', async () => {
  const stage = new Stage({ hang: '1000, 100/s', calm: '1000, 1/s' })
  stage.shaper.work(({ key }) => (key === 'hang' ? neverSettles() : undefined), { concurrency: HANDLERS })
  await stage.fill('calm', 20)
  await stage.fill('hang', 900)
  await stage.pass(20_000)
  expect(stage.startsOf('hang')).toHaveLength(7)
  expect(lateness(stage.startsOf('calm'), 1_000)).toEqual(Array.from({ length: 19 }, () => 0))
  await stage.close({ drainMs: 0 })
})

test('in memory a key takes every handler once the others have had no work for long, though none of its own ends', async () => {
  const stage = new Stage({ hang: '1000, 100/s', calm: '1000, 1/s' })
  stage.shaper.work(({ key }) => (key === 'hang' ? neverSettles() : undefined), { concurrency: HANDLERS })
  await stage.fill('calm', 1)
  await stage.fill('hang', 900)
  await stage.pass(9_000)
  expect(stage.startsOf('hang')).toHaveLength(7)
  await stage.pass(60_000)
  expect(stage.startsOf('hang')).toHaveLength(7)
  await stage.pass(61_000)
  expect(stage.startsOf('hang')).toHaveLength(HANDLERS)
  await stage.close({ drainMs: 0 })
})

test('in memory two workers are one pool', async () => {
  const stage = new Stage({ hang: '1000, 100/s', calm: '1000, 1/s' })
  for (const concurrency of [4, 6]) {
    stage.shaper.work(({ key }) => (key === 'hang' ? neverSettles() : undefined), { concurrency })
  }
  await stage.fill('calm', 5)
  await stage.fill('hang', 900)
  await stage.pass(5_000)
  expect(stage.startsOf('hang')).toHaveLength(7)
  await stage.close({ drainMs: 0 })
})

/** Keys of one tenant. */
const CROWD = Array.from({ length: 100 }, (_, index) => `crowd/${index}`)

test('in memory a segment with a hundred keys whose handlers never settle leaves handlers to another', async () => {
  const stage = new Stage({ crowd: '10, 100/s', calm: '1000, 1/s' })
  stage.shaper.work(({ key }) => (key === 'calm' ? undefined : neverSettles()), { concurrency: HANDLERS })
  await stage.fill('calm', 30)
  for (const key of CROWD) await stage.fill(key, 2)
  await stage.pass(30_000)
  expect(stage.startsOf('crowd')).toHaveLength(7)
  expect(lateness(stage.startsOf('calm'), 1_000)).toEqual(Array.from({ length: 29 }, () => 0))
  await stage.close({ drainMs: 0 })
})

test('in memory a segment that took every handler while others had no work gives them up as they end', async () => {
  const stage = new Stage({ crowd: '10, 100/s', calm: '1000, 10/s' })
  const order: string[] = []
  stage.shaper.work(
    ({ key }) => {
      order.push(key.split('/')[0]!)
      return stage.sleep(TAKES_MS)
    },
    { concurrency: HANDLERS },
  )
  for (const key of CROWD) await stage.fill(key, 2)
  await stage.pass(1_000)
  expect(order).toEqual(Array.from({ length: HANDLERS }, () => 'crowd'))
  await stage.fill('calm', 100)
  await stage.pass(TAKES_MS)
  // All ten ended together. The slots of the crowd are the older ones, and it gets its share and what is not kept.
  expect(order.slice(HANDLERS).filter((segment) => segment === 'crowd')).toHaveLength(6)
  expect(order.slice(HANDLERS).filter((segment) => segment === 'calm')).toHaveLength(4)
  await stage.pass(TAKES_MS)
  const running = (segment: string) =>
    stage.shaper.buckets({ under: segment, limit: 200 }).then(({ buckets }) => buckets)
  const count = (views: readonly { readonly running: number }[]) =>
    views.reduce((sum, view) => sum + view.running, 0)
  expect([count(await running('crowd')), count(await running('calm'))]).toEqual([5, 5])
  await stage.close({ drainMs: 0 })
})

test('on a shared line a segment with many keys whose handlers never settle leaves some free', async () => {
  const stage = new RedisWorkerStage(({ key }) => (key === 'calm' ? undefined : neverSettles()), HANDLERS)
  await stage.open()
  stage.deliver(stage.store.hand('calm'))
  for (const key of CROWD.slice(0, 30)) stage.deliver(stage.store.hand(key))
  await stage.pass(800)
  const departed = (segment: string) => stage.names('departed').filter((id) => id.startsWith(segment))
  expect(departed('crowd')).toHaveLength(7)
  stage.deliver(stage.store.hand('calm', 3))
  await stage.pass(800)
  expect(departed('calm')).toHaveLength(4)
  await stage.close(10_000, { drainMs: 0 })
})

test('on a shared line a key whose handlers never settle takes no more than leaves some free', async () => {
  const stage = new RedisWorkerStage(({ key }) => (key === 'hang' ? neverSettles() : undefined), HANDLERS)
  await stage.open()
  stage.store.bucket('hang', 10_000)
  stage.deliver(stage.store.hand('calm'))
  stage.deliver(stage.store.hand('hang', 16))
  await stage.pass(800)
  expect(stage.names('departed').filter((id) => id.startsWith('hang'))).toHaveLength(7)
  stage.deliver(stage.store.hand('calm', 3))
  await stage.pass(800)
  expect(stage.names('departed').filter((id) => id.startsWith('calm'))).toHaveLength(4)
  await stage.close(10_000, { drainMs: 0 })
})

test('on a shared line a key that is alone takes every handler, and hands them on as they end', async () => {
  const stage = new RedisWorkerStage(() => stage.clock.sleep(100_000), HANDLERS)
  await stage.open()
  stage.store.bucket('k', 5_000)
  stage.deliver(stage.store.hand('k', 16))
  await stage.pass(90)
  expect(stage.worker.running).toBe(HANDLERS)
  await stage.pass(200)
  expect(stage.names('departed')).toHaveLength(16)
  await stage.close(1_000)
})

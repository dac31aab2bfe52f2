import { expect, test } from 'vitest'
import { neverSettles, Stage } from '../../support/stage.ts'

test('the jobs behind move up, in place and in time', async () => {
  const stage = new Stage('5, 2/s')
  await stage.fill('k', 4)
  expect(await stage.shaper.cancel('k2')).toBe(true)
  expect(await stage.shaper.job('k2')).toMatchObject({ state: 'cancelled', attempt: 0, endedAt: 0 })
  expect(await stage.shaper.job('k2')).not.toHaveProperty('position')
  expect((await stage.shaper.job('k3'))!.position).toBe(2)
  stage.shaper.work(() => undefined)
  await stage.pass(5_000)
  expect(stage.starts).toEqual([
    ['k1', 0],
    ['k3', 500],
    ['k4', 1_000],
  ])
  await stage.conforms()
})

test('the place is free immediately, and the cost that it took', async () => {
  const stage = new Stage('5, 2/s')
  await stage.shaper.enqueue('k', 0, { id: 'big', cost: 4 })
  await stage.shaper.enqueue('k', 0)
  expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ accepted: false })
  await stage.shaper.cancel('big')
  expect(await stage.shaper.enqueue('k', 0, { cost: 4 })).toMatchObject({
    accepted: true,
    position: 2,
    waitMs: 500,
  })
})

test('false for a job that departed, ended, was cancelled before, or is unknown', async () => {
  const stage = new Stage('5, 2/s')
  stage.shaper.work((job) => (job.id === 'k1' ? neverSettles() : undefined))
  await stage.fill('k', 3)
  await stage.pass(600)
  expect(await stage.shaper.cancel('k3')).toBe(true)
  for (const id of ['k1', 'k2', 'k3', 'unknown', '']) expect(await stage.shaper.cancel(id)).toBe(false)
  expect(stage.emitted.filter(([name]) => name === 'cancelled')).toEqual([['cancelled', 'k3', 600]])
  await stage.close({ drainMs: 0 })
  await stage.conforms()
})

test('a job that waits to be tried again can be cancelled', async () => {
  const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 3, backoff: 1_000 } })
  stage.shaper.work(() => {
    throw new Error('as planned')
  })
  await stage.fill('k', 1)
  await stage.pass(100)
  expect(await stage.shaper.job('k1')).toMatchObject({ state: 'retrying', attempt: 1, position: 1 })
  expect(await stage.shaper.cancel('k1')).toBe(true)
  await stage.pass(10_000)
  expect(stage.starts).toHaveLength(1)
  expect(await stage.shaper.inspect('k')).toBeUndefined()
  await stage.conforms()
})

test('a cancelled slot is not wasted, and no earlier one is added', async () => {
  const stage = new Stage('5, 2/s')
  stage.shaper.work(() => undefined)
  await stage.fill('k', 3)
  await stage.pass(200)
  await stage.shaper.cancel('k2')
  await stage.pass(5_000)
  expect(stage.starts.map(([, ms]) => ms)).toEqual([0, 500])
  await stage.conforms()
})

test('an emptied line leaves nothing behind', async () => {
  const stage = new Stage('5, 2/s')
  await stage.fill('k', 5)
  for (let n = 1; n <= 5; n++) await stage.shaper.cancel(`k${n}`)
  await stage.pass(1)
  expect(await stage.shaper.buckets()).toEqual({ buckets: [], total: 0 })
  expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ accepted: true, waitMs: 0 })
})

import { describe, expect, test } from 'vitest'
import { FreezeError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

const TOLERANCE_MS = 5

describe('at admission', () => {
  test('one that cannot be met is refused with the time to come back, and then accepted', async () => {
    const stage = new Stage('9, 2/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 4)
    await stage.pass(100)
    const refused = await stage.shaper.enqueue('k', 0, { deadlineMs: 1_500 })
    expect(refused).toMatchObject({
      accepted: false,
      reason: 'deadline',
      retryAfterMs: 400,
      waiting: 3,
      capacity: 9,
    })
    await stage.pass(399)
    expect(await stage.shaper.enqueue('k', 0, { deadlineMs: 1_500 })).toMatchObject({ retryAfterMs: 1 })
    await stage.pass(1)
    expect(await stage.shaper.enqueue('k', 0, { id: 'k5', deadlineMs: 1_500 })).toMatchObject({
      waitMs: 1_500,
    })
    await stage.pass(9_000)
    expect(stage.startsOf('k')).toEqual([0, 500, 1_000, 1_500, 2_000])
    await stage.conforms()
  })

  test('behind a freeze, and behind a full line, the reason is what it has to wait for longest', async () => {
    const stage = new Stage('2, 2/s')
    await stage.shaper.freeze('k', 1_000)
    expect(await stage.shaper.enqueue('k', 0, { deadlineMs: 999 })).toMatchObject({
      reason: 'deadline',
      retryAfterMs: 1,
    })
    expect(await stage.shaper.enqueue('k', 0, { deadlineMs: 1_000 })).toMatchObject({ accepted: true })
    await stage.shaper.enqueue('k', 0)
    expect(await stage.shaper.enqueue('k', 0, { deadlineMs: 1 })).toMatchObject({
      reason: 'deadline',
      retryAfterMs: 1_999,
    })
    expect(await stage.shaper.enqueue('k', 0, { deadlineMs: 1_500 })).toMatchObject({
      reason: 'full',
      retryAfterMs: 1_000,
    })
    expect(await stage.shaper.enqueue('k', 0, { deadlineMs: 1, cost: 3 })).toMatchObject({
      reason: 'too-costly',
    })
  })
})

describe('while it waits', () => {
  test('a job expires on time, frees its place, and never runs later', async () => {
    const stage = new Stage('3, 2/s')
    await stage.shaper.enqueue('k', 0, { id: 'k1', deadlineMs: 700 })
    await stage.shaper.enqueue('k', 0, { id: 'k2', deadlineMs: 60_000 })
    await stage.shaper.enqueue('k', 0, { id: 'k3', deadlineMs: 1_000 })
    await stage.pass(700 + TOLERANCE_MS)
    expect(stage.emitted).toEqual([])
    await stage.pass(1)
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'expired', attempt: 0, deadlineAt: 700 })
    expect((await stage.shaper.inspect('k'))!.waiting).toBe(2)
    expect(await stage.shaper.enqueue('k', 0, { id: 'k4' })).toMatchObject({ accepted: true })
    await stage.pass(1_000)
    stage.shaper.work(() => undefined)
    await stage.pass(9_000)
    expect(stage.starts.map(([id]) => id)).toEqual(['k2', 'k4'])
    expect(stage.emitted.slice(0, 2)).toEqual([
      ['expired', 'k1', 705.001],
      ['expired', 'k3', 1_005.001],
    ])
    await stage.conforms()
  })

  test('a job that departs in time may end as late as it likes', async () => {
    const stage = new Stage('3, 2/s')
    stage.shaper.work(() => stage.sleep(5_000))
    await stage.shaper.enqueue('k', 0, { id: 'k1', deadlineMs: 100 })
    await stage.pass(9_000)
    expect(stage.emitted).toEqual([['completed', 'k1', 5_000]])
    await stage.conforms()
  })

  test('the jobs behind one that expired move up', async () => {
    const stage = new Stage('9, 2/s')
    await stage.fill('k', 3)
    await stage.shaper.enqueue('k', 0, { id: 'k4', deadlineMs: 1_500 })
    await stage.shaper.enqueue('k', 0, { id: 'k5' })
    await stage.shaper.freeze('k', 2_000)
    await stage.pass(1_600)
    expect((await stage.shaper.job('k5'))!.position).toBe(4)
    stage.shaper.work(() => undefined)
    await stage.pass(9_000)
    expect(stage.startsOf('k')).toEqual([2_000, 2_500, 3_000, 3_500])
    await stage.conforms()
  })
})

describe('while it waits to be tried again', () => {
  test('a job expires as well, though it had started', async () => {
    const stage = new Stage('3, 2/s', { jobDefaults: { attempts: 3, backoff: 2_000 } })
    stage.shaper.work(() => {
      throw new Error('as planned')
    })
    await stage.shaper.enqueue('k', 0, { id: 'k1', deadlineMs: 1_000 })
    await stage.pass(9_000)
    expect(stage.starts).toEqual([['k1', 0]])
    expect(stage.emitted.map(([name]) => name)).toEqual(['failed', 'expired'])
    expect(stage.emitted[1]![2]).toBeCloseTo(1_000 + TOLERANCE_MS, 2)
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'expired', attempt: 1, error: 'as planned' })
    await stage.conforms()
  })

  test('immediately, if its deadline passed while its handler ran', async () => {
    const stage = new Stage('3, 2/s', { jobDefaults: { attempts: 3, backoff: 1 } })
    stage.shaper.work(async () => {
      await stage.sleep(2_000)
      throw new Error('as planned')
    })
    await stage.shaper.enqueue('k', 0, { id: 'k1', deadlineMs: 1_000 })
    await stage.pass(9_000)
    expect(stage.starts).toHaveLength(1)
    expect(stage.emitted).toEqual([
      ['failed', 'k1', 2_000],
      ['expired', 'k1', 2_000],
    ])
    await stage.conforms()
  })

  test('also behind a freeze that it asked for itself', async () => {
    const stage = new Stage('3, 2/s')
    stage.shaper.work(() => {
      throw new FreezeError({ forMs: 5_000 })
    })
    await stage.shaper.enqueue('k', 0, { id: 'k1', deadlineMs: 1_000 })
    await stage.pass(9_000)
    expect(stage.emitted.map(([name]) => name)).toEqual(['returned', 'expired'])
    await stage.conforms()
  })
})

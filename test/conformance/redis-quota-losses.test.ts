import { describe, expect, it } from 'vitest'
import { HOUR, MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { at } from '../support/backend-driver.ts'
import { failOver, nextStart, notice, restart } from './losses.ts'
import { RedisStage } from './redis-stage.ts'

describe('what may be lost counts in quotas', () => {
  it('with the cost of the costliest job', async () => {
    const stage = await RedisStage.open('500, 1 per 10 seconds, 150/hour, tolerance 0')
    await stage.lineUp('ab', 0, { cost: 100 })
    const replica = await stage.dump()
    await stage.run(0)
    await failOver(stage, replica)
    await notice(stage, 0.5)
    expect(await nextStart(stage, 1_000, 3_600, 50)).toBeUndefined()
    expect(await nextStart(stage, 3_660, 3_800, 1)).toBeLessThan(3_670)
  })

  it('with the most that a job of the shard counts in a unit', async () => {
    const limit = '50, 10/s, 1000 tokens/minute 1 each, tolerance 0'
    const stage = await RedisStage.open(limit)
    await stage.admit('known', 0, { key: 'other', costs: { tokens: 900 } })
    await stage.run(0)
    const replica = await stage.dump()
    await stage.admit('a', 0.1, { key: 'young', costs: { tokens: 900 } })
    await stage.run(0.1)
    await failOver(stage, replica)
    await notice(stage, 0.5)
    await stage.admit('b', 0.6, { key: 'young', costs: { tokens: 900 } })
    expect(await nextStart(stage, 1, 60, 0.5)).toBeUndefined()
    expect(await nextStart(stage, 60.1, 70, 0.1)).toBeGreaterThan(60.1)
  })

  it('a slot that was granted just before until its worker can no longer use it', async () => {
    const stage = await RedisStage.open('9, 2/s, 2 per 5 seconds, tolerance 0')
    await stage.lineUp('xyz', 0)
    await stage.run(0)
    const replica = await stage.dump()
    const [y] = await stage.hand(0.3, 250)
    const granted = await stage.gate(y!, 0.3)
    expect(granted).toMatchObject({ kind: 'granted', latest: at(0.75) })
    await failOver(stage, replica)
    await notice(stage, 0.31)
    for (const job of await stage.hand(0.32, 250)) await stage.gate(job, 0.32)
    const next = await nextStart(stage, 0.35, 8, 0.01)
    expect(next).toBeGreaterThanOrEqual(0.75 + 5)
  })

  it('so much as the pace allows in the time that may be lost, and one more', async () => {
    const stage = await RedisStage.open('50, 10/s, 100/minute, 200 tokens/minute 3 each, tolerance 25ms')
    await stage.lineUp('a', 0)
    await restart(stage)
    await notice(stage, 0.5)
    // In 2 s of starts, 0.5 s in which a slot may be used, and the tolerance.
    const used = async (seconds: number) =>
      (await stage.inspect('a', seconds))?.quotas?.map(({ used }) => used)
    expect(await used(0.6)).toEqual([26, 78])
    expect(await nextStart(stage, 1.2, 2, 0.1)).toBe(1.2)
    expect(await used(1.3)).toEqual([27, 81])
    expect(await used(63)).toEqual([0, 0])
  })

  it('and every time that is said counts with it', async () => {
    const stage = await RedisStage.open('99, 100/s, 200/day, tolerance 0')
    await stage.lineUp('a', 0)
    await restart(stage)
    await notice(stage, 1)
    const tomorrow = (at(1) + 24 * HOUR) / MILLISECOND
    const isThen = { departsAt: expect.closeTo(tomorrow + 24 * 30_000, -5.5) }
    const { admission } = await stage.admit('b', 2)
    expect(admission).toMatchObject({ accepted: true, ...isThen })
    expect(admission).not.toHaveProperty('isEstimate')
    expect((await stage.admit('c', 2, { key: 'young' })).admission).toMatchObject({
      accepted: true,
      ...isThen,
    })
    expect(await stage.backend.verbs.forecast('younger', 1, at(2))).toMatchObject(isThen)
    const late = await stage.admit('d', 2, { deadline: at(3) })
    expect(late.admission).toMatchObject({ accepted: false, reason: 'deadline' })
    expect(await stage.views.explain('b', at(2))).toMatchObject(isThen)
    const view = await stage.inspect('a', 2)
    expect(view).toMatchObject({ quotas: [{ used: 200 }] })
    const { departsAt } = admission as Extract<typeof admission, { accepted: true }>
    // The job before it departs first, by an interval.
    expect(view?.nextDepartureAt).toBe(departsAt - 10)
    stage.isSilent = true
    const first = (departsAt - 10) / 1_000 - at(0) / SECOND
    expect((await stage.claim(first - 0.01)).jobs).toEqual([])
    expect(await nextStart(stage, first, first + 0.1)).toBe(first)
  })

  it('only in windows that the lost time is in', async () => {
    const stage = await RedisStage.open('99, 100/s, 200/minute')
    await restart(stage)
    await notice(stage, 1)
    const forecast = (seconds: number) => stage.backend.verbs.forecast('young', 1, at(seconds))
    expect(await forecast(61.9)).toMatchObject({ departsAt: at(62) / MILLISECOND })
    expect(await forecast(62)).toMatchObject({ departsAt: at(62) / MILLISECOND })
    await stage.lineUp('a', 63)
    expect(await nextStart(stage, 63, 64, 1)).toBe(63)
  })
})

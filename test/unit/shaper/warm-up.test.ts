import { describe, expect, test } from 'vitest'
import { FreezeError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

const gapsOf = (starts: readonly number[]) => starts.slice(1).map((at, index) => at - starts[index]!)
const BUSY = { minUtilisation: 0.999 }

describe('a limit with a warm-up', () => {
  test('50 jobs at 10/s, warming up in 3 s: gaps of 300, 280, 261 ms and so on, then of 100', async () => {
    const stage = new Stage('50, 10/s, warm-up 3s')
    stage.shaper.work(() => undefined)
    const admissions = await stage.fill('k', 50)
    await stage.pass(60_000)
    const starts = stage.startsOf('k')
    expect(starts).toHaveLength(50)
    const gaps = gapsOf(starts).map((gap) => Math.round(gap))
    expect(gaps.slice(0, 17)).toEqual([
      300, 280, 261, 244, 228, 212, 198, 185, 173, 161, 150, 140, 131, 122, 114, 107, 100,
    ])
    expect(new Set(gaps.slice(16))).toEqual(new Set([100]))
    for (const [index, admission] of admissions.entries()) {
      expect(admission.accepted && admission.departsAt).toBeCloseTo(starts[index]!, 6)
    }
    await stage.conforms(BUSY)
  })

  test('it cools while it is idle: after half a warm-up it is half warm', async () => {
    const stage = new Stage({ '*': { capacity: 50, rate: '10/s', warmUp: '3s', coldRate: '2/s' } })
    stage.shaper.work(() => undefined)
    await stage.fill('k', 50)
    await stage.pass(7_000)
    const last = stage.startsOf('k')[49]!
    // Due again 100 ms after the last, and cooler from then on.
    await stage.pass(last + 100 + 1_500 - stage.now)
    await stage.shaper.enqueueMany([1, 2, 3].map((data) => ({ key: 'k', data, id: `k-again${data}` })))
    await stage.pass(10_000)
    const gaps = gapsOf(stage.startsOf('k').slice(49))
    // Half way from 500 ms to 100 ms, and then 300 ms of 3 s warmer.
    expect(gaps).toEqual([1_600, 300, 260].map((gap) => expect.closeTo(gap, 6)))
    await stage.conforms(BUSY)
  })

  test('after a 429 the bucket is cold when the freeze is over', async () => {
    const stage = new Stage('50, 10/s, warm-up 3s')
    let isAngry = true
    stage.shaper.work(({ id }) => {
      if (id !== 'k40' || !isAngry) return
      isAngry = false
      throw new FreezeError({ forMs: 2_000 })
    })
    await stage.fill('k', 50)
    await stage.pass(60_000)
    const again = stage.startsOf('k').slice(40)
    expect(again[0]! - stage.startsOf('k')[39]!).toBeCloseTo(2_000, 6)
    expect(gapsOf(again).slice(0, 3).map(Math.round)).toEqual([300, 280, 261])
    await stage.conforms(BUSY)
  })

  test('the bucket is forgotten when it is cold again', async () => {
    const stage = new Stage('50, 10/s, warm-up 3s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 50)
    await stage.pass(stage.startsOf('k').length === 50 ? 0 : 6_500)
    expect(stage.startsOf('k')).toHaveLength(50)
    const coldAt = stage.startsOf('k').at(-1)! + 100 + 3_000
    await stage.pass(coldAt - stage.now - 20)
    expect((await stage.shaper.buckets()).total).toBe(1)
    await stage.pass(40)
    expect((await stage.shaper.buckets()).total).toBe(0)
  })
})

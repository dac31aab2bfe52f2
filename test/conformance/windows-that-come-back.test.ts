import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/duration.ts'
import { at, COMPLETED, request } from '../support/backend-driver.ts'
import { FamilyStage } from '../support/family-stage.ts'
import { DRIVERS, openFor } from './drivers.ts'

const limit = (...parts: readonly string[]) => ['100, 5/s', ...parts, 'tolerance 0'].join(', ')
const TEN_A_DAY = limit('10/day')

describe.each(DRIVERS)('%s: a quota that goes and comes back', (_, open) => {
  /** The time is in seconds, and goes on with each call. */
  async function opened(first: string, from = 0) {
    const driver = await openFor(open, first)
    let now = from
    let ids = 0
    const start = async (costs?: Record<string, number>, cost = 1) => {
      const id = `j${ids++}`
      await driver.admit(request(id, { cost, ...(costs && { costs }) }), at(now))
      const started = await driver.startNext(at(now))
      if (started !== undefined) await driver.finish(started.id, COMPLETED, at(now))
      return started !== undefined
    }
    return {
      driver,
      start,
      pass: (seconds: number) => {
        now += seconds
      },
      change: async (...parts: readonly string[]) => await driver.setRule('*', limit(...parts), at(now)),
      used: async () => (await driver.inspect('a', at(now)))?.quotas?.map(({ used }) => used),
    }
  }

  test.each([[['10/second']], [[]], [['3 at once']], [['9 tokens/minute 1 each']], [['99 per 2 hours']]])(
    'counts all that started in its window, also under %j',
    async (between) => {
      const line = await opened(TEN_A_DAY)
      expect(await line.start({}, 7)).toBe(true)
      line.pass(3_600)
      await line.change(...between)
      line.pass(3_600)
      expect(await line.start({}, 2)).toBe(true)
      line.pass(3_600)
      await line.change('10/day')
      expect(await line.used()).toEqual([9])
      expect(await line.start({}, 2)).toBe(false)
      // The first leave it after a day, and a part of it.
      line.pass(DAY / SECOND - 3 * 3_600)
      expect(await line.used()).toEqual([9])
      line.pass(25 * 60)
      expect(await line.used()).toEqual([2])
    },
  )

  test('is forgotten a window after it went, and no sooner', async () => {
    for (const [seconds, used] of [
      [3_599, 3],
      [3_600, 1],
    ] as const) {
      const line = await opened(limit('9/hour'))
      expect(await line.start()).toBe(true)
      line.pass(1)
      await line.change('9/minute')
      line.pass(60)
      expect(await line.start()).toBe(true)
      line.pass(3_530)
      expect(await line.start()).toBe(true)
      line.pass(seconds - 3_590)
      await line.change('9/hour')
      expect(await line.used()).toEqual([used])
    }
  })

  test('counts for another window of its unit, longer or shorter, what that looks back on', async () => {
    const line = await opened(TEN_A_DAY)
    await line.start({}, 4)
    line.pass(7_200)
    await line.start({}, 2)
    await line.change()
    line.pass(600)
    await line.change('10/hour', '10 per 7 days')
    expect(await line.used()).toEqual([2, 6])
  })

  test('counts what jobs name, and of others what the unit counted last', async () => {
    const line = await opened(limit('1000 tokens/day 100 each'))
    await line.start({ tokens: 30 })
    line.pass(1)
    await line.change()
    line.pass(1)
    await line.start({ tokens: 500 })
    line.pass(1)
    await line.start()
    line.pass(1)
    await line.change('1000 tokens/day 1 each', '10/day')
    expect(await line.used()).toEqual([630, 0])
    expect(await line.start({ tokens: 371 })).toBe(false)
  })

  test('of a calendar is remembered until its period ends', async () => {
    const midnight = (Math.ceil(at(0) / DAY) * DAY - at(0)) / SECOND
    const line = await opened(limit('10 per day in UTC'), midnight - 7_200)
    await line.start({}, 8)
    line.pass(60)
    await line.change('10/second')
    line.pass(60)
    await line.start()
    line.pass(60)
    await line.change('10 per day in UTC')
    expect(await line.used()).toEqual([9])
    await line.change()
    line.pass(7_200)
    await line.change('10 per day in UTC')
    expect(await line.used()).toEqual([0])
  })

  test('lets its bucket go when it is over', async () => {
    const line = await opened(limit('9/hour'))
    const { driver } = line
    await line.start()
    line.pass(60)
    await line.change()
    line.pass(1_800)
    await line.start()
    const isThere = async (seconds: number) => {
      await driver.forget(at(seconds))
      return (await driver.inspect('a', at(seconds))) !== undefined
    }
    expect(await isThere(60 + HOUR / SECOND - 1)).toBe(true)
    // The second start would count for half an hour more, if the quota came back.
    expect(await isThere(60 + HOUR / SECOND + 1)).toBe(false)
  })

  test('shows nothing of it, and nothing is held by it', async () => {
    const line = await opened(limit('2/minute'))
    await line.start({}, 2)
    await line.change()
    line.pass(MINUTE / SECOND / 2)
    for (let starts = 0; starts < 3; starts++) {
      expect(await line.start()).toBe(true)
      line.pass(1)
    }
    expect(await line.driver.inspect('a', at(40))).not.toHaveProperty('quotas')
    await line.driver.admit(request('last'), at(40))
    expect(await line.driver.job('last', at(40))).not.toHaveProperty('isEstimate')
    await expect((async () => await line.driver.settle('j0', { tokens: 1 }, at(40)))()).resolves.toBe(false)
  })
})

describe.each(DRIVERS)('%s: a quota of a total that goes and comes back', (_, open) => {
  test('counts all that started in its window, also while it was gone', async () => {
    const family = await FamilyStage.open(open, { 'a/*': '100, 20/s', 'a/': '200, 10/s, 9 per 20s' })
    await family.fill('a/1', 20)
    await family.fill('a/2', 20)
    await family.pass(0.45)
    expect(family.starts).toHaveLength(5)
    await family.driver.setRule('a/', '200, 10/s', family.now)
    await family.pass(0.2)
    expect(family.starts).toHaveLength(7)
    await family.driver.setRule('a/', '200, 10/s, 9 per 20s', family.now)
    await family.pass(10)
    expect(family.starts).toHaveLength(9)
  })

  test('is forgotten when its window is over, and all go on', async () => {
    const family = await FamilyStage.open(open, { 'a/*': '100, 20/s', 'a/': '200, 10/s, 9 per 2s' })
    await family.fill('a/1', 20)
    await family.fill('a/2', 20)
    await family.pass(0.45)
    await family.driver.setRule('a/', '200, 10/s', family.now)
    await family.pass(5)
    expect(family.starts).toHaveLength(40)
  })
})

import { describe, expect, test } from 'vitest'
import { at, COMPLETED, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const TOKENS = '9, 10/s, 1000 tokens/minute 100 each, tolerance 0'
const TWICE_AS_MANY = '9, 10/s, 1000 tokens/minute 200 each, tolerance 0'
const WITH_IMAGES = '9, 10/s, 1000 tokens/minute 100 each, 50 images/minute 5 each, tolerance 0'
const PACE = '9, 10/s, tolerance 0'
const PLACES = '9, 10/s, 3 at once, tolerance 0'

describe.each(DRIVERS)('%s: a start from before a change of its limit', (_, open) => {
  /** The limits come one after the other; the first is in force when `a` starts. */
  async function startedUnder(...limits: readonly string[]) {
    const driver = await openFor(open, limits[0]!)
    await driver.admit(request('a'), at(0))
    expect(await driver.startNext(at(0))).toMatchObject({ id: 'a' })
    for (const [index, limit] of limits.slice(1).entries()) {
      await driver.setRule('*', limit, at(0.01 * (index + 1)))
    }
    const used = async (seconds: number) =>
      (await driver.inspect('a', at(seconds)))!.quotas!.map((quota) => quota.used)
    return { driver, used }
  }

  test('settles what it was charged then, where a job counts more now', async () => {
    const { driver, used } = await startedUnder(TOKENS, TWICE_AS_MANY)
    expect(await used(0.1)).toEqual([100])
    expect(await driver.settle('a', { tokens: 30 }, at(0.1))).toBe(true)
    expect(await used(0.1)).toEqual([30])
  })

  test('settles upwards from what it was charged then, where a job counts less now', async () => {
    const { driver, used } = await startedUnder(TWICE_AS_MANY, TOKENS)
    expect(await driver.settle('a', { tokens: 250 }, at(0.1))).toBe(true)
    expect(await used(0.1)).toEqual([250])
  })

  test('settles downwards although another unit is new, in which it was charged nothing', async () => {
    const { driver, used } = await startedUnder(TOKENS, WITH_IMAGES)
    expect(await driver.settle('a', { tokens: 40, images: 3 }, at(0.1))).toBe(true)
    expect(await used(0.1)).toEqual([40, 3])
  })

  test.each([PACE, PLACES])('was charged nothing under %s', async (first) => {
    const { driver, used } = await startedUnder(first, TOKENS)
    expect(await driver.settle('a', { tokens: 70 }, at(0.1))).toBe(true)
    expect(await used(0.1)).toEqual([70])
  })

  test.each([PACE, PLACES])(
    'settles both ways, where its unit was gone under %s for a while',
    async (between) => {
      const { driver, used } = await startedUnder(TOKENS, between, TOKENS)
      await driver.admit(request('b'), at(0.1))
      expect(await driver.startNext(at(0.1))).toMatchObject({ id: 'b' })
      expect(await used(0.2)).toEqual([200])
      expect(await driver.settle('a', { tokens: 0 }, at(0.2))).toBe(true)
      expect(await used(0.2)).toEqual([100])
      expect(await driver.settle('b', { tokens: 110 }, at(0.2))).toBe(true)
      expect(await used(0.2)).toEqual([110])
    },
  )

  test.each([PACE, PLACES])(
    'takes nothing from later starts, where its unit was gone under %s for a window',
    async (between) => {
      const { driver, used } = await startedUnder(TOKENS, between)
      await driver.setRule('*', TOKENS, at(70))
      await driver.admit(request('b'), at(70.1))
      expect(await driver.startNext(at(70.1))).toMatchObject({ id: 'b' })
      expect(await used(70.2)).toEqual([100])
      expect(await driver.settle('a', { tokens: 0 }, at(70.2))).toBe(true)
      expect(await used(70.2)).toEqual([100])
      expect(await driver.settle('b', { tokens: 10 }, at(70.2))).toBe(true)
      expect(await used(70.2)).toEqual([10])
    },
  )

  test('of a retry settles what the retry was charged', async () => {
    const { driver, used } = await startedUnder(TOKENS, TWICE_AS_MANY)
    await driver.finish('a', { kind: 'retry', error: 'as planned', readyAt: at(0.2) }, at(0.1))
    expect(await driver.startNext(at(0.2))).toMatchObject({ id: 'a', attempt: 2 })
    expect(await used(0.2)).toEqual([300])
    expect(await driver.settle('a', { tokens: 50 }, at(0.3))).toBe(true)
    expect(await used(0.3)).toEqual([150])
    await driver.finish('a', COMPLETED, at(0.4))
    expect(await driver.settle('a', { tokens: 1 }, at(0.5))).toBe(false)
  })
})

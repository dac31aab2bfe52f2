import { describe, expect, test } from 'vitest'
import { at, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const TOKENS = '9, 10/s, 1000 tokens/minute 100 each, tolerance 0'
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

  test.each([PACE, PLACES])(
    'takes nothing from later starts, where its unit was gone under %s',
    async (between) => {
      const { driver, used } = await startedUnder(TOKENS, between, TOKENS)
      await driver.admit(request('b'), at(0.1))
      expect(await driver.startNext(at(0.1))).toMatchObject({ id: 'b' })
      expect(await used(0.2)).toEqual([100])
      expect(await driver.settle('a', { tokens: 0 }, at(0.2))).toBe(true)
      expect(await used(0.2)).toEqual([100])
      expect(await driver.settle('b', { tokens: 10 }, at(0.2))).toBe(true)
      expect(await used(0.2)).toEqual([10])
    },
  )
})

import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { at, COMPLETED, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const PACE = '99, 100/s, tolerance 0'

/** Who was frozen joins when the total lets one go next, and not when something else happens meanwhile. */
describe.each(DRIVERS)('%s: below a total that lets none go meanwhile, a newcomer goes before', (_, open) => {
  test.each([
    { what: 'a key', frozen: 'a/k', keys: ['a/k'] },
    { what: 'a family', frozen: 'a/x/', keys: ['a/x/1'] },
    { what: 'a family that got another job meanwhile', frozen: 'a/x/', keys: ['a/x/1', 'a/x/1'] },
    { what: 'a family with another key meanwhile', frozen: 'a/x/', keys: ['a/x/1', 'a/x/2'] },
  ])('$what whose freeze had ended before', async ({ frozen, keys }) => {
    const driver = await openFor(open, { '*': PACE, 'a/': `${PACE}, 1 at once`, 'a/x/': PACE })
    const [first, another] = keys
    await driver.admit(request('running', { key: 'a/r' }), at(0))
    await driver.startNext(at(0))
    await driver.admit(request('thawed', { key: first }), at(0.1))
    await driver.freeze(frozen, at(0.2), at(0.1))
    if (another !== undefined) await driver.admit(request('another', { key: another }), at(0.3))
    await driver.finish('running', COMPLETED, at(0.4))
    await driver.admit(request('newcomer', { key: 'a/z' }), at(0.5))
    const started: (string | undefined)[] = []
    for (const seconds of [0.6, 0.7]) {
      const job = await driver.startNext(at(seconds))
      started.push(job?.id)
      if (job !== undefined) await driver.finish(job.id, COMPLETED, at(seconds))
    }
    expect(started).toEqual(['newcomer', 'thawed'])
  })
})

describe.each(DRIVERS)('%s: a job that comes back to its line below a total', (_, open) => {
  test('counts in shares as it did, also where the total counts another unit meanwhile', async () => {
    const driver = await openFor(open, { '*': PACE, 'a/': '99, 10/s, tolerance 0' })
    await driver.admit(request('back', { key: 'a/x', costs: { tokens: 60 } }), at(0))
    await driver.admit(request('behind', { key: 'a/x' }), at(0))
    await driver.admit(request('last', { key: 'a/z' }), at(0))
    await driver.startNext(at(0))
    await driver.setRule('a/', '99, 10/s, 60 tokens/minute 1 each, tolerance 0', at(0.1))
    await driver.finish('back', { kind: 'freeze', until: at(0.1) }, at(0.1))
    await driver.setRule('a/', '99, 10/s, tolerance 0', at(0.2))
    // Not by 600 units, as that start would count of the quota.
    const facts = await driver.facts('last', at(0.5))
    expect(facts?.wait?.under?.waitAtMost).toBeLessThan(10 * SECOND)
  })
})

import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { at, COMPLETED, failAndRetry, request } from '../support/backend-driver.ts'
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

describe.each(DRIVERS)('%s: a key whose first job is a retry by now that its quota holds', (_, open) => {
  test.each([
    { what: 'lets others go', capacity: undefined },
    { what: 'lets others go when the limit of the total is changed meanwhile', capacity: 98 },
  ])('$what', async ({ capacity }) => {
    const driver = await openFor(open, {
      'a/': '99, 4/s, tolerance 0',
      'a/1': `${PACE}, 6 / 5s, weight 4`,
      'a/2': PACE,
      'a/3': `${PACE}, weight 9`,
    })
    const large = [
      ['first', 'a/2'],
      ['second', 'a/2'],
      ['retried', 'a/1'],
    ] as const
    for (const [id, key] of large) await driver.admit(request(id, { key, cost: 4 }), at(0))
    await driver.admit(request('small', { key: 'a/1' }), at(0))
    expect(await driver.startNext(at(0))).toMatchObject({ id: 'first' })
    expect(await driver.startNext(at(1))).toMatchObject({ id: 'retried' })
    // The next of its key is the small one, which the quota would let go, until the retry is ready.
    await driver.finish('retried', failAndRetry(at(2.1)), at(1.1))
    await driver.admit(request('between', { key: 'a/3' }), at(1.2))
    expect(await driver.startNext(at(2))).toMatchObject({ id: 'between' })
    if (capacity !== undefined) await driver.setRule('a/', `${capacity}, 4/s, tolerance 0`, at(2.15))
    expect(await driver.startNext(at(2.25))).toMatchObject({ id: 'second' })
  })
})

describe.each(DRIVERS)('%s: a family that was held back', (_, open) => {
  test('keeps the tag with which it was chosen, also where a larger use lets others fall further behind', async () => {
    const own = `${PACE}, 1 at once`
    const limits = { '*': PACE, 'a/': `${PACE}, 40 tokens/minute 1 each`, 'a/p/': own, 'a/t': own }
    const driver = await openFor(open, limits)
    const admit = (id: string, key: string, tokens: number, seconds: number) =>
      driver.admit(request(id, { key, costs: { tokens } }), at(seconds))
    const startAll = async (from: number, most: number) => {
      const ids: string[] = []
      for (let n = 0; n < most; n++) {
        const job = await driver.startNext(at(from + n / 100))
        if (job !== undefined) ids.push(job.id)
        if (job?.key === 'a/s') await driver.finish(job.id, COMPLETED, at(from + n / 100))
      }
      return ids
    }
    await admit('p1', 'a/p/x', 1, 0)
    await admit('p2', 'a/p/x', 1, 0)
    expect(await startAll(0, 1)).toEqual(['p1'])
    for (let n = 0; n < 60; n++) await admit(`s${n}`, 'a/s', 1, 0.01)
    expect(await startAll(0.02, 19)).toHaveLength(19)
    await admit('t1', 'a/t', 1, 0.3)
    await admit('t2', 'a/t', 1, 0.3)
    const rest = await startAll(0.4, 30)
    expect([rest.length, rest.includes('t1')]).toEqual([20, true])
    // The family could go, but the quota of the total above it has no room.
    await driver.finish('p1', COMPLETED, at(1))
    expect(await startAll(1, 1)).toEqual([])
    // From now on one may be further behind.
    await admit('large', 'a/s', 10, 1.1)
    await admit('p3', 'a/p/y', 1, 1.2)
    await driver.finish('t1', COMPLETED, at(1.3))
    expect(await startAll(63, 2)).toEqual(['t2', 'p3'])
  })
})

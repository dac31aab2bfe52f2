import { describe, expect, test } from 'vitest'
import { at, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

/** Cold one in three seconds; three seconds later one in one and a half, and another later one a second. */
const RULE = '9, 1/s, warm-up 4s'

describe.each(DRIVERS)('%s: a limit with a warm-up', (_, open) => {
  test('begins with long intervals that shorten to its own, as every job was promised', async () => {
    const driver = await openFor(open, RULE)
    const departures = [0, 3, 4.5, 5.5, 6.5]
    for (const [index, seconds] of departures.entries()) {
      const answer = await driver.admit(request(`j${index}`), at(0))
      expect(answer).toMatchObject({ departsAt: msAt(seconds), position: index + 1 })
    }
    const ran = await driver.runUntil(at(99))
    expect(ran.map(([, seconds]) => seconds)).toEqual(departures)
  })

  test('is that of a total, too: a key alone below it departs when it was told', async () => {
    const driver = await openFor(open, { '*': '9, 2/s', 'a/': '4, 1/s, warm-up 4s' })
    const key = 'a/1'
    const departures = [0, 3, 4.5, 5.5]
    for (const [index, seconds] of departures.entries()) {
      const answer = await driver.admit(request(`j${index}`, { key }), at(0))
      expect(answer).toMatchObject({ departsAt: msAt(seconds), isEstimate: true })
    }
    // It has room when two have departed, if these are of others.
    const refused = await driver.admit(request('more', { key }), at(0))
    expect(refused).toMatchObject({ reason: 'full', at: 'a/', retryAfterMs: 3_000, isEstimate: true })
    const ran = await driver.runUntil(at(99))
    expect(ran.map(([, seconds]) => seconds)).toEqual(departures)
  })

  test('cools as fast as it warms', async () => {
    const driver = await openFor(open, RULE)
    await driver.lineUp('abcde', at(0))
    await driver.runUntil(at(99))
    // Due again at 7.5, warm: one second without a departure leaves three of four.
    await driver.lineUp('fgh', at(8.5))
    expect(await driver.runUntil(at(99))).toEqual([
      ['f', 8.5],
      ['g', 10],
      ['h', 11],
    ])
    await driver.lineUp('ij', at(40))
    expect(await driver.runUntil(at(99))).toEqual([
      ['i', 40],
      ['j', 43],
    ])
  })

  test('is remembered until it is cold', async () => {
    const driver = await openFor(open, RULE)
    await driver.lineUp('abcde', at(0))
    await driver.runUntil(at(99))
    const isKnown = async (seconds: number) => {
      await driver.forget(at(seconds))
      return (await driver.inspect('a', at(seconds))) !== undefined
    }
    expect([await isKnown(7.6), await isKnown(11.4), await isKnown(11.5)]).toEqual([true, true, false])
  })

  test('is cold after a freeze', async () => {
    const driver = await openFor(open, RULE)
    await driver.lineUp('abcdefg', at(0))
    await driver.runUntil(at(5.5))
    await driver.freeze('a', at(5.6), at(5.5))
    expect(await driver.runUntil(at(99))).toEqual([
      ['e', 6.5],
      ['f', 9.5],
      ['g', 11],
    ])
  })

  test('is cold after a freeze that a handler asked for, and the job is the first', async () => {
    const driver = await openFor(open, RULE)
    await driver.lineUp('abcdefg', at(0))
    await driver.runUntil(at(4.5))
    await driver.startNext(at(5.5))
    await driver.finish('d', { kind: 'freeze', until: at(20) }, at(6))
    expect(await driver.forecast('a', 1, at(6))).toMatchObject({ departsAt: msAt(26.5), position: 5 })
    expect(await driver.runUntil(at(99))).toEqual([
      ['d', 20],
      ['e', 23],
      ['f', 24.5],
      ['g', 25.5],
    ])
  })

  test('a job of cost 2 takes two intervals of it', async () => {
    const driver = await openFor(open, RULE)
    await driver.lineUp('xyz', at(0), { cost: 2 })
    expect(await driver.runUntil(at(99))).toEqual([
      ['x', 0],
      ['y', 4.5],
      ['z', 6.5],
    ])
  })

  test('the wait for a retry cools it, and jobs behind it are promised times that include that', async () => {
    const driver = await openFor(open, RULE)
    await driver.lineUp('abcd', at(0))
    await driver.runUntil(at(4.5))
    await driver.startNext(at(5.5))
    await driver.finish('d', failAndRetry(at(9.5)), at(5.6))
    // Due at 6.5, warm; the retry comes three seconds later, and leaves one second of four: 3 - 0.5.
    expect(await driver.runUntil(at(99))).toEqual([['d', 9.5]])
    expect(await driver.forecast('a', 1, at(9.6))).toMatchObject({ departsAt: msAt(12) })
  })

  test('a rejection names the time at which there is room, and no earlier one', async () => {
    const driver = await openFor(open, '2, 1/s, warm-up 4s')
    await driver.lineUp('x', at(0))
    await driver.runUntil(at(0))
    await driver.lineUp('yz', at(0))
    expect(await driver.admit(request('w'), at(0))).toMatchObject({ accepted: false, retryAfterMs: 3_000 })
    const costly = request('w', { cost: 2 })
    expect(await driver.admit(costly, at(0))).toMatchObject({ accepted: false, retryAfterMs: 4_500 })
    await driver.runUntil(at(3))
    expect(await driver.admit(request('w'), at(3))).toMatchObject({ accepted: true, departsAt: msAt(5.5) })
  })

  test('a limit that is changed in the middle spaces waiting jobs, and keeps the time that was spent', async () => {
    const driver = await openFor(open, RULE)
    await driver.lineUp('abcdef', at(0))
    await driver.runUntil(at(3))
    await driver.setRule('*', '9, 2/s, warm-up 6s from 1/s', at(3.1))
    // Three of six seconds: half way from 1 s to 0.5 s. After that 3.75 of six.
    const starts = (await driver.runUntil(at(99))).map(([, seconds]) => seconds)
    expect(starts.slice(0, 2)).toEqual([3.75, 4.4375])
    await driver.setRule('*', '9, 10/s', at(20))
    await driver.lineUp('xy', at(20))
    expect(await driver.runUntil(at(99))).toEqual([
      ['x', 20],
      ['y', 20.1],
    ])
    await driver.setRule('*', RULE, at(20.15))
    await driver.lineUp('z', at(20.15))
    expect(await driver.runUntil(at(99))).toEqual([['z', 23.1]])
  })
})

import { describe, expect, test } from 'vitest'
import { NoLimitError } from '../../src/core/errors.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { at, COMPLETED, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

describe.each(DRIVERS)('%s: a change of limits', (_, open) => {
  test('tenfold up: waiting jobs are spaced anew immediately, counted from the last slot', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('wxyz', at(0))
    await driver.startNext(at(0))
    await driver.setRule('*', '9, 10/s', at(0.05))
    expect(await driver.inspect('a', at(0.05))).toMatchObject({
      limit: '9, 10/s',
      nextDepartureAt: msAt(0.1),
    })
    expect(await driver.admit(request('q'), at(0.05))).toMatchObject({ position: 4, departsAt: msAt(0.4) })
    const departures = await driver.runUntil(at(9))
    for (const [index, [id, seconds]] of departures.entries()) {
      expect([id, seconds]).toEqual(['xyzq'[index], expect.closeTo((index + 1) / 10, 6)])
    }
    expect(departures).toHaveLength(4)
  })

  test('tenfold up while a slot is long overdue under the new limit: nothing is made up for', async () => {
    const driver = await openFor(open, '9, 0.1/s')
    await driver.lineUp('xyz', at(0))
    await driver.startNext(at(0))
    await driver.setRule('*', '9, 1/s', at(5))
    expect(await driver.runUntil(at(5))).toEqual([['y', 5]])
    expect(await driver.startNext(at(6) - 1)).toBeUndefined()
    expect(await driver.runUntil(at(9))).toEqual([['z', 6]])
  })

  test('tenfold down: the next is as far from the last as the new limit demands', async () => {
    const driver = await openFor(open, '9, 10/s')
    await driver.lineUp('xyz', at(0))
    await driver.startNext(at(0))
    await driver.setRule('*', '9, 1/s', at(0.05))
    expect(await driver.startNext(at(0.9))).toBeUndefined()
    expect(await driver.runUntil(at(9))).toEqual([
      ['y', 1],
      ['z', 2],
    ])
  })

  test('it counts as many intervals as the last departure cost', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0), { cost: 3 })
    await driver.lineUp('y', at(0))
    await driver.startNext(at(0))
    await driver.setRule('*', '9, 2/s', at(0))
    expect(await driver.runUntil(at(9))).toEqual([['y', 1.5]])
  })

  test('there and back again is as before', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    await driver.startNext(at(0))
    await driver.setRule('*', '9, 0.1/s', at(0.1))
    await driver.setRule('*', '9, 1/s', at(0.2))
    expect(await driver.runUntil(at(9))).toEqual([
      ['y', 1],
      ['z', 2],
    ])
  })

  test('an empty bucket remembers its last departure under the new limit', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.finish('x', COMPLETED, at(0))
    await driver.setRule('*', '9, 0.1/s', at(0.5))
    await driver.forget(at(2))
    expect(await driver.admit(request('y'), at(2))).toMatchObject({ departsAt: msAt(10) })
  })

  test('the same limit again changes nothing', async () => {
    const driver = await openFor(open, '9, 3/s')
    await driver.lineUp('xyz', at(0))
    await driver.startNext(at(0))
    const before = await driver.inspect('a', at(0.1))
    await driver.setRule('*', '9, 3/s', at(0.1))
    expect(await driver.inspect('a', at(0.1))).toEqual(before)
  })

  test('retries that back off are not hurried', async () => {
    const driver = await openFor(open, '9, 0.1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.finish('x', failAndRetry(at(5)), at(0))
    await driver.setRule('*', '9, 10/s', at(1))
    expect(await driver.runUntil(at(99))).toEqual([['x', 5]])
  })

  test('a freeze and a pause outlive it', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.freeze('a', at(5), at(0))
    await driver.pause('a', at(0))
    await driver.setRule('*', '9, 10/s', at(1))
    expect(await driver.inspect('a', at(1))).toMatchObject({ paused: true, frozenUntil: msAt(5) })
    expect(await driver.startNext(at(4))).toBeUndefined()
    await driver.resume('a', at(4))
    expect(await driver.runUntil(at(9))).toEqual([['x', 5]])
  })

  test('a capacity below the depth drops no job and rejects until there is room', async () => {
    const driver = await openFor(open, '3, 1/s')
    await driver.lineUp('xyz', at(0))
    await driver.setRule('*', '1, 1/s', at(0))
    expect(await driver.inspect('a', at(0))).toMatchObject({ capacity: 1, fill: 3, state: 'full' })
    expect(await driver.admit(request('q'), at(0))).toMatchObject({
      reason: 'full',
      waiting: 3,
      capacity: 1,
      retryAfterMs: 2_000,
    })
    expect(await driver.admit(request('q', { cost: 2 }), at(0))).toMatchObject({ reason: 'too-costly' })
    expect((await driver.runUntil(at(9))).map(([id]) => id)).toEqual(['x', 'y', 'z'])
  })

  test('a job that costs more than a lowered capacity still departs', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0), { cost: 4 })
    await driver.setRule('*', '2, 1/s', at(0))
    expect(await driver.runUntil(at(9))).toEqual([
      ['x', 0],
      ['y', 4],
    ])
  })

  test('a larger capacity admits immediately', async () => {
    const driver = await openFor(open, '1, 1/s')
    await driver.lineUp('x', at(0))
    expect(await driver.admit(request('y'), at(0))).toMatchObject({ accepted: false })
    await driver.setRule('*', '2, 1/s', at(0))
    expect(await driver.admit(request('y'), at(0))).toMatchObject({ accepted: true, position: 2 })
  })
})

describe.each(DRIVERS)('%s: the rule book', (_, open) => {
  test('a longer pattern governs from then on, and only the keys that it matches', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0), { key: 'a/b' })
    await driver.lineUp('pq', at(0), { key: 'c' })
    for (let start = 0; start < 2; start++) await driver.startNext(at(0))
    await driver.setRule('a/*', '9, 4/s', at(0))
    expect(await driver.inspect('a/b', at(0))).toMatchObject({ pattern: 'a/*', limit: '9, 4/s' })
    expect(await driver.inspect('c', at(0))).toMatchObject({ pattern: '*', limit: '9, 1/s' })
    expect(await driver.runUntil(at(9))).toEqual([
      ['y', 0.25],
      ['q', 1],
    ])
    expect(await driver.unsetRule('a/*', at(9))).toBe(true)
    await driver.lineUp('z', at(9), { key: 'a/b' })
    expect(await driver.inspect('a/b', at(9))).toMatchObject({ pattern: '*', limit: '9, 1/s' })
  })

  test('a limit that is unset stays with the backlog, new jobs are rejected, a new one governs all', async () => {
    const driver = await openFor(open, { a: '9, 1/s' })
    await driver.lineUp('xyz', at(0))
    expect([await driver.unsetRule('a', at(0)), await driver.unsetRule('a', at(0))]).toEqual([true, false])
    await expect(driver.admit(request('q'), at(0))).rejects.toThrow(NoLimitError)
    await expect(driver.admitMany([request('q')], at(0))).rejects.toThrow(NoLimitError)
    await expect(driver.forecast('a', 1, at(0))).rejects.toThrow(NoLimitError)
    expect(await driver.admit(request('x'), at(0))).toMatchObject({ replayed: true })
    expect(await driver.inspect('a', at(0))).toMatchObject({ limit: '9, 1/s', pattern: 'a', jobs: 3 })
    expect(await driver.runUntil(at(1))).toHaveLength(2)
    await driver.setRule('*', '9, 0.1/s', at(1))
    expect(await driver.inspect('a', at(1))).toMatchObject({ pattern: '*', nextDepartureAt: msAt(11) })
    expect(await driver.admit(request('q'), at(2))).toMatchObject({ position: 2, departsAt: msAt(21) })
  })

  test('a backlog without a rule can still be frozen, paused and resumed', async () => {
    const driver = await openFor(open, { a: '9, 1/s' })
    await driver.lineUp('x', at(0))
    await driver.unsetRule('a', at(0))
    await driver.pause('a', at(0))
    await driver.freeze('a', at(3), at(0))
    await driver.resume('a', at(1))
    expect(await driver.runUntil(at(9))).toEqual([['x', 3]])
    await driver.forget(at(9))
    await expect(driver.pause('a', at(9))).rejects.toThrow(NoLimitError)
  })

  test('lists what is in force, in the order in which patterns came', async () => {
    const driver = await openFor(open, { '*': '3, 1/s', 'a/*': '4, 1/s' })
    await driver.setRule('b', { capacity: 5, rate: '7 per minute', tolerance: '1ms' }, at(0))
    await driver.setRule('*', '3, 2/s', at(0))
    const rules = [
      { ...parseRule('*', '3, 2/s'), origin: 'override', at: at(0) },
      { ...parseRule('a/*', '4, 1/s'), origin: 'code', at: at(0) },
      { ...parseRule('b', '5, 7/m, tolerance 1ms'), origin: 'override', at: at(0) },
    ]
    expect(await driver.rules()).toEqual(rules)
    for (const [key, index] of [
      ['a/b', 1],
      ['b/c', 2],
      ['c', 0],
    ] as const) {
      expect(await driver.findRule(key)).toEqual(rules[index])
    }
    await driver.unsetRule('*', at(0))
    expect(await driver.findRule('c')).toBeUndefined()
    expect(await driver.unsetRule('unknown', at(0))).toBe(false)
  })
})

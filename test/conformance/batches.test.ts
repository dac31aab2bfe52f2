import { describe, expect, test } from 'vitest'
import { IdConflictError, NoLimitError } from '../../src/core/errors.ts'
import { at, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

describe.each(DRIVERS)('%s: admitMany', (_, open) => {
  test('verdicts come in order, and the bound holds within the batch', async () => {
    const driver = await openFor(open, '4, 1/s')
    const costs = [1, 2, 2, 1, 1, 5]
    const batch = costs.map((cost, index) => request(`j${index}`, { cost }))
    const verdicts = await driver.admitMany(batch, at(0))
    expect(verdicts).toMatchObject([
      { id: 'j0', position: 1, departsAt: msAt(0), waiting: 1, capacity: 4 },
      { id: 'j1', position: 2, departsAt: msAt(1), waiting: 3, capacity: 4 },
      { reason: 'full', retryAfterMs: 1_000, waiting: 3 },
      { id: 'j3', position: 3, departsAt: msAt(3), waiting: 4, capacity: 4 },
      { reason: 'full', retryAfterMs: 1_000, waiting: 4 },
      { reason: 'too-costly' },
    ])
    expect(await driver.runUntil(at(9))).toEqual([
      ['j0', 0],
      ['j1', 1],
      ['j3', 3],
    ])
  })

  test('buckets of one batch know nothing of each other', async () => {
    const driver = await openFor(open, { a: '1, 1/s', b: '2, 1/s' })
    const batch = ['a', 'b', 'a', 'b'].map((key, index) => request(`${key}${index}`, { key }))
    expect(await driver.admitMany(batch, at(0))).toMatchObject([
      { accepted: true, key: 'a', position: 1, waiting: 1, capacity: 1 },
      { accepted: true, key: 'b', position: 1, waiting: 1, capacity: 2 },
      { accepted: false, key: 'a', waiting: 1, capacity: 1 },
      { accepted: true, key: 'b', position: 2, departsAt: msAt(1), waiting: 2, capacity: 2 },
    ])
  })

  test('deadlines are judged behind the earlier jobs of the same batch', async () => {
    const driver = await openFor(open, '9, 1/s')
    const deadline = at(1)
    const batch = [...'xyz'].map((id) => request(id, { deadline }))
    expect(await driver.admitMany(batch, at(0))).toMatchObject([
      { accepted: true, departsAt: msAt(0) },
      { accepted: true, departsAt: msAt(1) },
      { accepted: false, reason: 'deadline', retryAfterMs: 1_000 },
    ])
  })

  test.each([
    ['one total', { 'a/': '900, 100/s' }],
    ['nested totals', { 'a/': '900, 100/s', 'a/x/': '900, 90/s', 'a/y/': '900, 80/s, weight 2' }],
    ['a total with a quota', { 'a/': '900, 100/s, 300 tokens/min 1 each' }],
  ])('below %s a batch gets the same answers as its requests one by one', async (_, totals) => {
    const limits = { '*': '9, 200/s', ...totals }
    const keys = [
      'a/x/1',
      'a/x/1',
      'a/y/1',
      'a/x/2',
      'a/x/1',
      'a/y/2',
      'a/z',
      'a/x/2',
      'a/y/1',
      'a/z',
      'a/x/1',
    ]
    const batch = keys.map((key, index) => request(`j${index}`, { key, cost: 1 + (index % 3) }))
    const [one, other] = [await openFor(open, limits), await openFor(open, limits)]
    const alone = []
    for (const each of batch) alone.push(await one.admit(each, at(0)))
    expect(await other.admitMany(batch, at(0))).toEqual(alone)
    expect(await other.runUntil(at(2))).toEqual(await one.runUntil(at(2)))
  })

  test('none is none', async () => {
    const driver = await openFor(open, '9, 1/s')
    expect(await driver.admitMany([], at(0))).toEqual([])
  })

  test('the same id twice is one job, whether it fits or not', async () => {
    const driver = await openFor(open, '2, 1/s')
    const [big, small] = [request('big', { cost: 3 }), request('small')]
    const verdicts = await driver.admitMany([big, small, small, big], at(0))
    expect(verdicts.map(({ accepted }) => accepted)).toEqual([false, true, true, false])
    expect(verdicts[2]).toEqual({ ...verdicts[1], replayed: true })
    expect(await driver.audit()).toMatchObject({ admitted: 1, waiting: 1 })
  })

  test.each([
    ['no limit', request('bad', { key: 'lawless' }), NoLimitError],
    ['an id of another job', request('known', { data: '2' }), IdConflictError],
    ['an id of the same batch', request('first', { data: '2' }), IdConflictError],
  ])('one with %s in the middle, and none is admitted', async (_, bad, error) => {
    const driver = await openFor(open, { a: '9, 1/s', b: '9, 1/s' })
    await driver.admit(request('known', { key: 'a/b' }), at(0))
    const everything = async () => [
      await driver.audit(),
      await driver.list({ sort: 'key' }, at(0)),
      await driver.job('first', at(0)),
      await driver.job('last', at(0)),
      await driver.stored(),
    ]
    const before = await everything()
    const [first, last] = [request('first'), request('last')]
    await expect(driver.admitMany([first, bad, last], at(0))).rejects.toThrow(error)
    expect(await everything()).toEqual(before)
    expect(await driver.admitMany([first, last], at(0))).toMatchObject([{ position: 1 }, { position: 2 }])
  })

  test('a batch may replay a part of itself', async () => {
    const driver = await openFor(open, { a: '2, 1/s', b: '9, 1/s' })
    const [x, y, z] = [request('x'), request('y'), request('z')]
    const other = request('other', { key: 'b', cost: 4 })
    const [first, elsewhere] = await driver.admitMany([x, other], at(0))
    expect(await driver.admitMany([x, y, x, other, z, y], at(0.5))).toMatchObject([
      { ...first, waiting: 1, replayed: true },
      { accepted: true, id: 'y', position: 2, departsAt: msAt(1.5), waiting: 2 },
      { ...first, waiting: 2, replayed: true },
      { ...elsewhere, waiting: 4, replayed: true },
      { accepted: false, reason: 'full', waiting: 2 },
      { accepted: true, id: 'y', position: 2, departsAt: msAt(1.5), waiting: 2, replayed: true },
    ])
  })

  test('of a thousand at once, as many as there is room for', async () => {
    const driver = await openFor(open, '700, 10/s')
    const batch = Array.from({ length: 1_000 }, (_, index) => request(`j${index}`))
    const verdicts = await driver.admitMany(batch, at(0))
    expect(verdicts.map((verdict) => verdict.accepted && verdict.position)).toEqual(
      batch.map((_, index) => index < 700 && index + 1),
    )
    expect(verdicts[699]).toMatchObject({ id: 'j699', departsAt: msAt(69.9) })
    expect(await driver.audit()).toMatchObject({ admitted: 700, waiting: 700 })
    expect((await driver.startNext(at(0)))!.id).toBe('j0')
  })
})

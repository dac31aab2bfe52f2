import { describe, expect, test } from 'vitest'
import { at, COMPLETED, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

describe.each(DRIVERS)('%s: line', (_, open) => {
  test('shows the first waiting jobs, in the order of departure', async () => {
    const driver = await openFor(open, '9, 1/s')
    expect(await driver.line('a', 50, at(0))).toBeUndefined()
    await driver.lineUp('xy', at(0), { cost: 2 })
    await driver.startNext(at(0))
    await driver.finish('x', failAndRetry(at(30)), at(0))
    await driver.startNext(at(2))
    await driver.admit(request('~c~1', { isTurn: true }), at(3))
    await driver.finish('y', { kind: 'freeze', until: at(9) }, at(3))
    await driver.lineUp('z', at(4), { costs: { images: 2, tokens: 30 } })
    const all = {
      key: 'a',
      total: 4,
      jobs: [
        { id: 'y', cost: 2, state: 'retrying', admittedAt: msAt(0) },
        { id: '~c~1', cost: 1, state: 'waiting', admittedAt: msAt(3), isTurn: true },
        { id: 'z', cost: 1, costs: { images: 2, tokens: 30 }, state: 'waiting', admittedAt: msAt(4) },
        { id: 'x', cost: 2, state: 'retrying', admittedAt: msAt(0), readyAt: msAt(30) },
      ],
    }
    expect(await driver.line('a', 200, at(5))).toEqual(all)
    expect(await driver.line('a', 2, at(5))).toEqual({ ...all, jobs: all.jobs.slice(0, 2) })
  })

  test('a retry that is ready goes before jobs that wait for the first time, and each is shown so', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    await driver.startNext(at(0))
    await driver.finish('x', failAndRetry(at(0.5)), at(0))
    const line = await driver.line('a', 200, at(10))
    expect(line!.jobs.map(({ id }) => id)).toEqual(['x', 'y', 'z'])
    const positions = await Promise.all(
      [...'xyz'].map(async (id) => (await driver.job(id, at(10)))!.position),
    )
    expect(positions).toEqual([1, 2, 3])
    expect(await driver.startNext(at(10))).toMatchObject({ id: 'x' })
  })

  test('of a bucket where nothing waits', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.pause('a', at(0))
    expect(await driver.line('a', 50, at(0))).toEqual({ key: 'a', total: 0, jobs: [] })
  })
})

test.each(DRIVERS)('%s: flow counts what was admitted, rejected, departed and ended', async (_, open) => {
  const driver = await openFor(open, '2, 1/s')
  expect(await driver.flow(at(0))).toEqual({ at: msAt(0), admitted: 0, rejected: 0, departed: 0, ended: 0 })
  await driver.lineUp('xy', at(0))
  await driver.admit(request('refused'), at(0))
  await driver.admit(request('y'), at(0))
  await driver.admitMany([request('again'), request('again'), request('dear', { cost: 3 })], at(0))
  await driver.forecast('a', 9, at(0))
  await driver.startNext(at(0))
  await driver.finish('x', failAndRetry(at(0)), at(0))
  await driver.startNext(at(1))
  await driver.finish('x', COMPLETED, at(1))
  await driver.cancel('y', at(1))
  expect(await driver.flow(at(2))).toEqual({ at: msAt(2), admitted: 2, rejected: 4, departed: 2, ended: 2 })
})

const NOTHING = { verdicts: [], departures: [] }

describe.each(DRIVERS)('%s: recent', (_, open) => {
  test('shows verdicts and departures from the first request for them on', async () => {
    const driver = await openFor(open, '2, 2/s')
    await driver.lineUp('w', at(0))
    await driver.startNext(at(0))
    expect(await driver.recent('a', at(0))).toEqual(NOTHING)
    await driver.lineUp('x', at(1), { cost: 2 })
    await driver.admit(request('x', { cost: 2 }), at(1))
    await driver.admitMany([request('y'), request('z', { key: 'other' })], at(1))
    expect((await driver.startNext(at(1)))?.id).toBe('x')
    expect((await driver.startNext(at(1)))?.id).toBe('z')
    await driver.lineUp('y', at(2))
    await driver.startNext(at(2))
    const first = await driver.recent('a', at(3))
    expect(first).toEqual({
      verdicts: [
        { at: msAt(2), id: 'y', accepted: true, waiting: 1 },
        { at: msAt(1), id: 'y', accepted: false, reason: 'full', waiting: 2 },
        { at: msAt(1), id: 'x', accepted: true, waiting: 2 },
      ],
      departures: [
        { at: msAt(2), id: 'y', gapMs: 1_000, gapRatio: 1 },
        { at: msAt(1), id: 'x', gapMs: 1_000, gapRatio: 2 },
      ],
    })
    expect(await driver.recent('other', at(3))).toEqual(NOTHING)
    expect(await driver.recent('a', at(3))).toEqual(first)
  })

  test('has no gap for the first start', async () => {
    const driver = await openFor(open, '2, 2/s')
    await driver.recent('a', at(0))
    await driver.lineUp('x', at(1))
    await driver.startNext(at(1))
    expect((await driver.recent('a', at(1))).departures).toEqual([{ at: msAt(1), id: 'x' }])
  })

  test('also shows why a job was rejected', async () => {
    const driver = await openFor(open, '2, 2/s')
    await driver.recent('a', at(0))
    await driver.lineUp('x', at(0))
    await driver.admit(request('y', { cost: 5 }), at(0))
    await driver.admit(request('z', { deadline: at(0.1) }), at(0))
    await driver.pause('a', at(0))
    await driver.admit(request('p', { deadline: at(9) }), at(0))
    const { verdicts } = await driver.recent('a', at(0))
    expect(verdicts.map(({ id, reason }) => [id, reason])).toEqual([
      ['p', 'paused'],
      ['z', 'deadline'],
      ['y', 'too-costly'],
      ['x', undefined],
    ])
  })

  test('keeps the last fifty', async () => {
    const driver = await openFor(open, '99, 200/s')
    await driver.recent('a', at(0))
    for (let n = 0; n < 60; n++) {
      await driver.admit(request(`j${n}`), at(n))
      await driver.startNext(at(n))
      await driver.finish(`j${n}`, COMPLETED, at(n))
      if (n % 20 === 0) await driver.recent('a', at(n))
    }
    const { verdicts, departures } = await driver.recent('a', at(60))
    const last = Array.from({ length: 50 }, (_, n) => `j${59 - n}`)
    expect(verdicts.map(({ id }) => id)).toEqual(last)
    expect(departures.map(({ id }) => id)).toEqual(last)
  })

  test('stops thirty seconds after the last request, and starts again with the next', async () => {
    const driver = await openFor(open, '99, 1/s')
    await driver.recent('a', at(0))
    await driver.lineUp('x', at(29))
    await driver.lineUp('y', at(30))
    expect(await driver.recent('a', at(40))).toEqual(NOTHING)
    await driver.lineUp('z', at(69))
    const { verdicts } = await driver.recent('a', at(69))
    expect(verdicts.map(({ id }) => id)).toEqual(['z'])
  })

  test('watches the last hundred buckets that were asked for', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.recent('first', at(0))
    await driver.recent('second', at(1))
    await driver.recent('first', at(2))
    for (let n = 0; n < 99; n++) await driver.recent(`k${n}`, at(3))
    for (const key of ['first', 'second', 'k98']) await driver.admit(request(key, { key }), at(4))
    const seen = await Promise.all(
      ['first', 'k98', 'second'].map(async (key) => (await driver.recent(key, at(5))).verdicts.length),
    )
    expect(seen).toEqual([1, 1, 0])
  })

  test('counts a rejection that is noted, and changes nothing else', async () => {
    const driver = await openFor(open, '1, 1/s')
    await driver.lineUp('x', at(0))
    const look = async (rejected: number) => [
      await driver.inspect('a', at(1)),
      await driver.line('a', 50, at(1)),
      { ...(await driver.flow(at(1))), rejected: (await driver.flow(at(1))).rejected - rejected },
      await driver.inspect('new', at(1)),
    ]
    const before = await look(0)
    await driver.recent('a', at(1))
    await driver.recent('new', at(1))
    await driver.admit(request('y'), at(1))
    await driver.admit(request('z', { key: 'new', cost: 2 }), at(1))
    expect(await look(2)).toEqual(before)
    expect((await driver.recent('new', at(1))).verdicts).toMatchObject([{ id: 'z', reason: 'too-costly' }])
  })
})

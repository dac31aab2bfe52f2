import { describe, expect, test } from 'vitest'
import { at, COMPLETED, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

describe.each(DRIVERS)('%s: cancel', (_, open) => {
  test('waiting -> cancelled; the jobs behind it move up', async () => {
    const driver = await openFor(open, '3, 1/s')
    await driver.lineUp('xyz', at(0))
    expect(await driver.cancel('y', at(0))).toBe(true)
    expect(await driver.job('y', at(1))).toMatchObject({ state: 'cancelled', endedAt: msAt(0), attempt: 0 })
    expect(await driver.job('z', at(0))).toMatchObject({ state: 'waiting', position: 2 })
    expect(await driver.inspect('a', at(0))).toMatchObject({ waiting: 2, jobs: 2 })
    expect(await driver.admit(request('q'), at(0))).toMatchObject({ position: 3, departsAt: msAt(2) })
    expect(await driver.runUntil(at(9))).toEqual([
      ['x', 0],
      ['z', 1],
      ['q', 2],
    ])
  })

  test('the head -> cancelled; the next takes its slot', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0), { cost: 2 })
    await driver.cancel('x', at(0))
    expect(await driver.runUntil(at(9))).toEqual([['y', 0]])
  })

  test('the last -> cancelled; nothing departs, and the bucket is idle', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.cancel('x', at(0.5))
    expect(await driver.startNext(at(0.6))).toBeUndefined()
    expect(await driver.audit()).toMatchObject({ admitted: 1, waiting: 0, ended: 1 })
    await driver.lineUp('y', at(0.6))
    expect(await driver.runUntil(at(9))).toEqual([['y', 0.6]])
  })

  test('retrying -> cancelled, after a failure and after a freeze', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    await driver.startNext(at(0))
    await driver.startNext(at(1))
    await driver.finish('x', failAndRetry(at(9)), at(1))
    await driver.finish('y', { kind: 'freeze', until: at(5) }, at(1))
    expect([await driver.cancel('x', at(2)), await driver.cancel('y', at(2))]).toEqual([true, true])
    expect(await driver.job('x', at(2))).toMatchObject({
      state: 'cancelled',
      attempt: 1,
      error: 'as planned',
    })
    expect(await driver.job('y', at(2))).toMatchObject({ state: 'cancelled', attempt: 0 })
    expect(await driver.inspect('a', at(2))).toMatchObject({ waiting: 0, retrying: 0, fill: 0 })
    expect(await driver.startNext(at(99))).toBeUndefined()
  })

  test('no job that runs, has ended or is unknown', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    expect(await driver.cancel('unknown', at(0))).toBe(false)
    await driver.startNext(at(0))
    expect(await driver.cancel('x', at(0))).toBe(false)
    await driver.finish('x', COMPLETED, at(0))
    expect(await driver.cancel('x', at(0))).toBe(false)
    await driver.lineUp('y', at(0))
    expect(await driver.cancel('y', at(0))).toBe(true)
    expect(await driver.cancel('y', at(0))).toBe(false)
    expect(await driver.job('x', at(1))).toMatchObject({ state: 'completed' })
  })

  test('with a deadline; it does not expire afterwards', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('x', { deadline: at(1) }), at(0))
    await driver.cancel('x', at(0))
    expect(await driver.expire(at(9))).toEqual([])
    expect(await driver.job('x', at(9))).toMatchObject({ state: 'cancelled' })
  })
})

describe.each(DRIVERS)('%s: expire', (_, open) => {
  test('every deadline that has passed, the first first, and no other', async () => {
    const driver = await openFor(open, '9, 1/m')
    for (const [id, minutes] of Object.entries({ x: 3, y: 2, z: 9 })) {
      await driver.admit(request(id, { deadline: at(minutes * 60), key: id }), at(0))
    }
    await driver.lineUp('w', at(0))
    expect(await driver.expire(at(120))).toEqual([])
    expect(await driver.expire(at(200))).toEqual(['y', 'x'])
    expect(await driver.job('y', at(200))).toMatchObject({
      state: 'expired',
      deadlineAt: msAt(120),
      endedAt: msAt(200),
      attempt: 0,
    })
    expect(await driver.audit()).toMatchObject({ waiting: 2, ended: 2 })
    expect((await driver.list({ sort: 'key' }, at(200))).buckets.map(({ key }) => key).slice(0, 1)).toEqual([
      'a',
    ])
  })

  test('a start at the deadline and within the tolerance after it is in time', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('x', { deadline: at(1) }), at(0))
    await driver.admit(request('y', { deadline: at(1) }), at(0))
    await driver.startNext(at(0))
    expect(await driver.expire(at(1.005))).toEqual([])
    expect(await driver.startNext(at(1.005))).toMatchObject({ id: 'y', slot: at(1) })
    expect(await driver.expire(at(9))).toEqual([])
    expect(await driver.audit()).toMatchObject({ running: 2, ended: 0 })
  })

  test('a microsecond beyond it is not', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('x', { deadline: at(1) }), at(0))
    expect(await driver.expire(at(1.005) + 1)).toEqual(['x'])
    expect(await driver.inspect('a', at(1.005) + 1)).toMatchObject({ waiting: 0, jobs: 0 })
    expect(await driver.startNext(at(2))).toBeUndefined()
  })

  test('not of one that runs; again of one that came back', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('x', { deadline: at(1) }), at(0))
    await driver.startNext(at(0))
    expect(await driver.expire(at(9))).toEqual([])
    await driver.finish('x', failAndRetry(at(10)), at(9))
    expect(await driver.expire(at(9))).toEqual(['x'])
    expect(await driver.job('x', at(9))).toMatchObject({ state: 'expired', attempt: 1, error: 'as planned' })
  })

  test('of a paused and of a frozen bucket too; the jobs behind it move up', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('x', { deadline: at(1) }), at(0))
    await driver.lineUp('y', at(0))
    await driver.pause('a', at(0))
    await driver.freeze('a', at(4), at(0))
    expect(await driver.expire(at(2))).toEqual(['x'])
    expect(await driver.job('y', at(2))).toMatchObject({ position: 1 })
    await driver.resume('a', at(3))
    expect(await driver.runUntil(at(9))).toEqual([['y', 4]])
  })
})

describe.each(DRIVERS)('%s: freeze', (_, open) => {
  test('nothing departs before its end, then jobs depart at the rate', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    await driver.startNext(at(0))
    expect(await driver.freeze('a', at(5), at(0.5))).toBe(at(5))
    expect(await driver.inspect('a', at(1))).toMatchObject({ state: 'frozen', frozenUntil: msAt(5) })
    expect(await driver.startNext(at(5) - 1)).toBeUndefined()
    expect(await driver.runUntil(at(9))).toEqual([
      ['y', 5],
      ['z', 6],
    ])
    const view = await driver.inspect('a', at(6))
    expect([view!.state, view!.frozenUntil]).toEqual(['idle', undefined])
  })

  test('never shortened, and lengthened by a longer one', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    expect(await driver.freeze('a', at(9), at(0))).toBe(at(9))
    expect(await driver.freeze('a', at(2), at(0))).toBe(at(9))
    expect(await driver.freeze('a', at(20), at(3))).toBe(at(20))
    expect(await driver.runUntil(at(99))).toEqual([['x', 20]])
  })

  test('one that ends before the next slot delays no job', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    await driver.startNext(at(0))
    await driver.freeze('a', at(0.5), at(0))
    expect(await driver.startNext(at(1.003))).toMatchObject({ id: 'y', slot: at(1) })
  })

  test('an empty bucket can be frozen, and new jobs learn of it', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.freeze('a', at(5), at(0))
    expect(await driver.inspect('a', at(1))).toMatchObject({ state: 'frozen', jobs: 0, waiting: 0 })
    expect(await driver.admit(request('x'), at(1))).toMatchObject({ position: 1, departsAt: msAt(5) })
    expect(await driver.admit(request('y', { deadline: at(5) }), at(1))).toMatchObject({
      reason: 'deadline',
      retryAfterMs: 1_000,
    })
    expect(await driver.runUntil(at(9))).toEqual([['x', 5]])
  })
})

describe.each(DRIVERS)('%s: unfreeze', (_, open) => {
  test('departures go on from then on, at the rate', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('wxyz', at(0))
    await driver.startNext(at(0))
    await driver.freeze('a', at(3_600), at(0.5))
    expect(await driver.unfreeze('a', at(5))).toBe(true)
    const view = await driver.inspect('a', at(5))
    expect(view).toMatchObject({ state: 'waiting', nextDepartureAt: msAt(5) })
    expect(view!.frozenUntil).toBeUndefined()
    expect(await driver.runUntil(at(99))).toEqual([
      ['x', 5],
      ['y', 6],
      ['z', 7],
    ])
  })

  test('before the next slot keeps the spacing', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    await driver.startNext(at(0))
    await driver.freeze('a', at(99), at(0.1))
    await driver.unfreeze('a', at(0.2))
    expect(await driver.runUntil(at(9))).toEqual([['y', 1]])
  })

  test('a job that a freeze gave back departs first, with its attempt', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    await driver.startNext(at(0))
    await driver.finish('x', { kind: 'freeze', until: at(3_600) }, at(0.5))
    await driver.unfreeze('a', at(2))
    expect(await driver.startNext(at(2))).toMatchObject({ id: 'x', attempt: 1, slot: at(2) })
  })

  test('lifts no pause', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.pause('a', at(0))
    await driver.freeze('a', at(99), at(0))
    expect(await driver.unfreeze('a', at(1))).toBe(true)
    expect(await driver.inspect('a', at(1))).toMatchObject({ state: 'paused' })
    expect(await driver.startNext(at(2))).toBeUndefined()
  })

  test('answers no where nothing is frozen, and changes nothing', async () => {
    const driver = await openFor(open, '9, 1/s')
    expect(await driver.unfreeze('a', at(0))).toBe(false)
    expect(await driver.inspect('a', at(0))).toBeUndefined()
    await driver.lineUp('x', at(0))
    await driver.freeze('a', at(2), at(0))
    expect(await driver.unfreeze('a', at(2))).toBe(false)
    expect(await driver.runUntil(at(9))).toEqual([['x', 2]])
  })

  test('twice is once', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.freeze('a', at(9), at(0))
    expect(await driver.unfreeze('a', at(1))).toBe(true)
    expect(await driver.unfreeze('a', at(1))).toBe(false)
    expect(await driver.runUntil(at(9))).toEqual([['x', 1]])
  })

  test('an empty bucket is forgotten, and new jobs depart immediately', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.freeze('a', at(3_600), at(0))
    await driver.unfreeze('a', at(1))
    await driver.forget(at(1))
    expect(await driver.inspect('a', at(1))).toBeUndefined()
    expect(await driver.admit(request('x'), at(1))).toMatchObject({ departsAt: msAt(1) })
  })

  test('a bucket with a warm-up stays cold', async () => {
    const driver = await openFor(open, '9, 1/s, warm-up 30s from 0.5/s')
    await driver.lineUp('wxy', at(0))
    await driver.startNext(at(0))
    await driver.startNext(at(2))
    await driver.freeze('a', at(99), at(2.1))
    await driver.unfreeze('a', at(10))
    await driver.startNext(at(10))
    const view = await driver.inspect('a', at(10))
    expect(view!.nextDepartureAt).toBeUndefined()
    expect(await driver.admit(request('z'), at(10))).toMatchObject({ departsAt: msAt(12) })
  })
})

describe.each(DRIVERS)('%s: pause and resume', (_, open) => {
  test('a paused bucket is never due; a resumed one from then on, at the rate', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('wxyz', at(0))
    await driver.startNext(at(0))
    await driver.pause('a', at(0.5))
    await driver.finish('w', COMPLETED, at(0.5))
    const view = await driver.inspect('a', at(5))
    expect(view).toMatchObject({ state: 'paused', paused: true, jobs: 3 })
    expect(view!.nextDepartureAt).toBeUndefined()
    expect(await driver.startNext(at(9))).toBeUndefined()
    await driver.resume('a', at(9))
    expect(await driver.inspect('a', at(9))).toMatchObject({ paused: false, nextDepartureAt: msAt(9) })
    expect(await driver.runUntil(at(99))).toEqual([
      ['x', 9],
      ['y', 10],
      ['z', 11],
    ])
  })

  test('a resume before the next slot keeps the spacing', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    await driver.startNext(at(0))
    await driver.pause('a', at(0.1))
    await driver.resume('a', at(0.2))
    expect(await driver.runUntil(at(9))).toEqual([['y', 1]])
  })

  test('a pause outlives a freeze, and a freeze a pause', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.pause('a', at(0))
    await driver.freeze('a', at(5), at(0))
    expect(await driver.startNext(at(6))).toBeUndefined()
    await driver.freeze('a', at(9), at(6))
    await driver.resume('a', at(7))
    expect(await driver.inspect('a', at(7))).toMatchObject({ state: 'frozen', paused: false })
    expect(await driver.runUntil(at(20))).toEqual([['x', 9]])
  })

  test('retries wait through a pause', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.pause('a', at(0))
    await driver.finish('x', failAndRetry(at(1)), at(0))
    expect(await driver.startNext(at(2))).toBeUndefined()
    await driver.resume('a', at(3))
    expect(await driver.runUntil(at(9))).toEqual([['x', 3]])
  })

  test('twice is once; and where nothing is paused nothing happens', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.pause('a', at(0))
    await driver.pause('a', at(0))
    expect(await driver.inspect('a', at(0))).toMatchObject({ state: 'paused', jobs: 0 })
    await driver.resume('a', at(1))
    await driver.resume('a', at(1))
    await driver.resume('unknown', at(1))
    expect(await driver.inspect('unknown', at(1))).toBeUndefined()
    await driver.lineUp('x', at(2))
    expect(await driver.runUntil(at(9))).toEqual([['x', 2]])
  })
})

import { describe, expect, test } from 'vitest'
import { at, COMPLETED, failAndRetry, msAt, request, SETTINGS } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const traceOf = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`

describe.each(DRIVERS)('%s: departures', (_, open) => {
  test('waiting -> running -> completed, with all that was asked for', async () => {
    const driver = await openFor(open, '9, 1/s')
    const settings = { ...SETTINGS, attempts: 7, timeoutMs: 1_234 }
    await driver.admit(request('x', { data: '{"n":1}', cost: 2, settings }), at(0))
    const started = await driver.startNext(at(0.002))
    expect(started).toEqual({
      id: 'x',
      key: 'a',
      data: '{"n":1}',
      cost: 2,
      settings,
      attempt: 1,
      crashes: 0,
      fence: expect.any(Number),
      admittedAt: at(0),
      slot: at(0.002),
    })
    expect(await driver.audit()).toEqual({
      admitted: 1,
      waiting: 0,
      handed: 0,
      running: 1,
      retrying: 0,
      ended: 0,
    })
    await driver.finish('x', { kind: 'completed', result: '{"ok":[]}' }, at(3))
    expect(await driver.job('x', at(3))).toMatchObject({ state: 'completed', result: { ok: [] } })
    expect(await driver.audit()).toMatchObject({ admitted: 1, running: 0, ended: 1 })
  })

  test('the trace of its request comes with every attempt, and with no other job', async () => {
    const driver = await openFor(open, '9, 1/s')
    const [first, second] = [traceOf('a'), traceOf('b')]
    await driver.admitMany(
      [request('x', { traceparent: first }), request('y'), request('z', { traceparent: second })],
      at(0),
    )
    // The same request in another span is the same request.
    const again = request('x', { traceparent: second })
    expect(await driver.admit(again, at(0))).toMatchObject({ replayed: true })
    expect(await driver.job('x', at(0))).not.toHaveProperty('traceparent')
    expect(await driver.startNext(at(0))).toMatchObject({
      id: 'x',
      attempt: 1,
      traceparent: first,
      data: '1',
    })
    await driver.finish('x', failAndRetry(at(1)), at(0))
    expect(await driver.startNext(at(1))).toMatchObject({ id: 'x', attempt: 2, traceparent: first })
    const started = await driver.startNext(at(2))
    expect([started?.id, started?.traceparent]).toEqual(['y', undefined])
    expect(await driver.startNext(at(3))).toMatchObject({ id: 'z', traceparent: second })
  })

  test('running -> failed, with the error', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.finish('x', { kind: 'failed', error: 'no' }, at(1))
    expect(await driver.job('x', at(1))).toMatchObject({
      state: 'failed',
      error: 'no',
      attempt: 1,
      endedAt: msAt(1),
    })
    expect(await driver.audit()).toMatchObject({ running: 0, ended: 1 })
  })

  test('nothing departs before its slot, nor a microsecond later', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    expect(await driver.startNext(at(0) - 1)).toBeUndefined()
    expect(await driver.startNext(at(0))).toMatchObject({ id: 'x', slot: at(0) })
    expect(await driver.startNext(at(1) - 1)).toBeUndefined()
    expect(await driver.startNext(at(1))).toMatchObject({ id: 'y', slot: at(1) })
    expect(await driver.startNext(at(9))).toBeUndefined()
  })

  test('a start needs no predecessor to have ended', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    for (const seconds of [0, 1, 2]) await driver.startNext(at(seconds))
    expect(await driver.inspect('a', at(2))).toMatchObject({ running: 3, jobs: 0, state: 'idle' })
    for (const id of 'zyx') await driver.finish(id, COMPLETED, at(3))
    expect(await driver.audit()).toMatchObject({ running: 0, ended: 3 })
  })

  test('jobs of one key depart in the order of admission', async () => {
    const driver = await openFor(open, '99, 10/s')
    const ids = 'thequickbrownfxjmpsv'.split('').map((letter, index) => `${letter}${index}`)
    for (const id of ids.slice(0, 8)) await driver.admit(request(id), at(0))
    const first = await driver.runUntil(at(0.45))
    await driver.admitMany(
      ids.slice(8).map((id) => request(id)),
      at(0.45),
    )
    const departures = [...first, ...(await driver.runUntil(at(9)))]
    expect(departures.map(([id]) => id)).toEqual(ids)
    for (const [index, [, seconds]] of departures.entries()) expect(seconds).toBeCloseTo(index / 10, 6)
  })

  test('of several buckets the one whose slot came first departs first', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('late', { key: 'a' }), at(0.002))
    await driver.admit(request('early', { key: 'b' }), at(0.001))
    expect((await driver.startNext(at(5)))!.id).toBe('early')
    expect((await driver.startNext(at(5)))!.id).toBe('late')
  })

  test('one bucket holds up no other', async () => {
    const driver = await openFor(open, { a: '9, 1/m', b: '9, 10/s', c: '9, 1/s' })
    await driver.lineUp('pqr', at(0), { key: 'a' })
    await driver.lineUp('xyz', at(0), { key: 'b' })
    await driver.lineUp('c', at(0), { key: 'c' })
    await driver.freeze('c', at(99), at(0))
    const starts = (await driver.runUntil(at(1))).sort()
    expect(starts).toEqual([
      ['p', 0],
      ['x', 0],
      ['y', 0.1],
      ['z', 0.2],
    ])
  })

  test('a cost keeps the next departure as many intervals away', async () => {
    const driver = await openFor(open, '20, 4/s')
    for (const [index, cost] of [3, 1, 8, 2, 1].entries()) {
      await driver.admit(request(`j${index}`, { cost }), at(0))
    }
    expect(await driver.runUntil(at(9))).toEqual([
      ['j0', 0],
      ['j1', 0.75],
      ['j2', 1],
      ['j3', 3],
      ['j4', 3.5],
    ])
  })

  test('fences grow with every start, whatever the bucket', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    await driver.lineUp('z', at(0.5), { key: 'b' })
    const fences: number[] = []
    for (const seconds of [0, 0.5, 1]) fences.push((await driver.startNext(at(seconds)))!.fence)
    expect(fences).toEqual(fences.toSorted((a, b) => a - b))
    expect(new Set(fences).size).toBe(3)
  })

  test('the carry of an interval keeps a long line exact', async () => {
    const driver = await openFor(open, '3000, 30/s')
    await driver.admitMany(
      Array.from({ length: 300 }, (_, index) => request(`j${index}`)),
      at(0),
    )
    const departures = await driver.runUntil(at(99))
    for (const [index, [id, seconds]] of departures.entries()) {
      expect([id, seconds]).toEqual([`j${index}`, expect.closeTo(index / 30, 5)])
    }
    expect(departures).toHaveLength(300)
  })
})

describe.each(DRIVERS)('%s: late starts', (_, open) => {
  test('one within the tolerance keeps the grid of slots', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    await driver.startNext(at(0))
    expect(await driver.startNext(at(1.004))).toMatchObject({ id: 'y', slot: at(1) })
    expect(await driver.job('y', at(1.004))).toMatchObject({ departedAt: msAt(1.004) })
    expect(await driver.startNext(at(2) - 1)).toBeUndefined()
    expect(await driver.startNext(at(2))).toMatchObject({ id: 'z', slot: at(2) })
  })

  test('one beyond it moves the grid, and the lost time is not made up for', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('wxyz', at(0))
    await driver.startNext(at(0))
    const late = at(1.005) + 1
    expect(await driver.startNext(late)).toMatchObject({ id: 'x', slot: late })
    expect(await driver.startNext(at(2.005))).toBeUndefined()
    expect(await driver.startNext(at(9))).toMatchObject({ id: 'y', slot: at(9) })
    expect(await driver.startNext(at(9.999))).toBeUndefined()
    expect(await driver.startNext(at(10))).toMatchObject({ id: 'z', slot: at(10) })
  })

  test('a limit sets how much lateness is forgiven', async () => {
    const driver = await openFor(open, '9, 1/s, tolerance 100ms')
    await driver.lineUp('xyz', at(0))
    await driver.startNext(at(0))
    expect(await driver.startNext(at(1.099))).toMatchObject({ slot: at(1) })
    expect(await driver.startNext(at(2.1) + 1)).toMatchObject({ slot: at(2.1) + 1 })
  })

  test('a job that found the bucket idle has no slot to keep: the grid begins with its start', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    expect(await driver.startNext(at(0.004))).toMatchObject({ slot: at(0.004) })
    expect(await driver.startNext(at(1.003))).toBeUndefined()
    expect(await driver.startNext(at(1.004))).toMatchObject({ id: 'y', slot: at(1.004) })
    await driver.lineUp('z', at(2.01))
    expect(await driver.startNext(at(2.012))).toMatchObject({ id: 'z', slot: at(2.012) })
  })

  test('a job that came before `next` keeps to the grid though none waited', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.lineUp('y', at(0.5))
    expect(await driver.startNext(at(1.004))).toMatchObject({ id: 'y', slot: at(1) })
  })
})

import { describe, expect, test } from 'vitest'
import { at, COMPLETED, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

describe.each(DRIVERS)('%s: the view of a total', (_, open) => {
  test('has every field, while jobs of several children wait, run and have left', async () => {
    const driver = await openFor(open, { '*': '9, 10/s', 'a/': '20, 1/s', 'a/*/': '4, 2/s, weight 3' })
    expect(await driver.family('a/', at(0))).toBeUndefined()
    await driver.admit(request('x', { key: 'a' }), at(0))
    await driver.admit(request('y', { key: 'a/b/c', cost: 2 }), at(0))
    await driver.admit(request('z', { key: 'a/b/d' }), at(0))
    const outer = { path: 'a/', pattern: 'a/', limit: '20, 1/s', capacity: 20, children: 2, paused: false }
    const inner = {
      path: 'a/b/',
      total: 'a/',
      pattern: 'a/*/',
      limit: '4, 2/s, weight 3',
      capacity: 4,
      children: 2,
      paused: false,
    }
    expect(await driver.family('a/', at(0.5))).toEqual({
      ...outer,
      state: 'waiting',
      waiting: 4,
      fill: 0.2,
      running: 0,
      nextDepartureAt: msAt(0.5),
    })
    expect(await driver.family('a/b/', at(0.5))).toEqual({
      ...inner,
      state: 'waiting',
      waiting: 3,
      fill: 0.75,
      running: 0,
      nextDepartureAt: msAt(0.5),
    })
    expect(await driver.family('a/e/', at(0.5))).toBeUndefined()
    const first = await driver.startNext(at(0.5))
    expect(await driver.family('a/', at(0.75))).toMatchObject({
      waiting: 4 - (first?.cost ?? 0),
      running: 1,
      nextDepartureAt: msAt(0.5 + (first?.cost ?? 0)),
    })
    for (const seconds of [3, 6]) expect(await driver.startNext(at(seconds))).toBeDefined()
    for (const id of ['x', 'y', 'z']) await driver.finish(id, COMPLETED, at(9))
    expect(await driver.family('a/', at(9))).toEqual({
      ...outer,
      state: 'idle',
      waiting: 0,
      fill: 0,
      running: 0,
    })
    await driver.forget(at(60))
    expect(await driver.family('a/', at(60))).toBeUndefined()
    expect(await driver.family('a/b/', at(60))).toBeUndefined()
  })

  test('waits for whoever above it waits longest', async () => {
    const driver = await openFor(open, { '*': '9, 10/s', 'a/': '20, 1/s', 'a/b/': '9, 10/s' })
    for (const id of ['x', 'y']) await driver.admit(request(id, { key: 'a/b/c' }), at(0))
    await driver.startNext(at(0))
    expect(await driver.family('a/b/', at(0.5))).toMatchObject({ waiting: 1, nextDepartureAt: msAt(1) })
    await driver.pause('a/', at(0.5))
    expect(await driver.family('a/b/', at(0.5))).not.toHaveProperty('nextDepartureAt')
  })

  test('is frozen, paused or full, also where nothing waits', async () => {
    const driver = await openFor(open, { '*': '9, 10/s', 'a/': '2, 1/s', 'b/': '2, 1/s', 'c/': '2, 1/s' })
    await driver.freeze('a/', at(3), at(0))
    await driver.pause('b/', at(0))
    const idle = { waiting: 0, capacity: 2, fill: 0, running: 0, children: 0, limit: '2, 1/s' }
    expect(await driver.family('a/', at(1))).toEqual({
      ...idle,
      path: 'a/',
      pattern: 'a/',
      state: 'frozen',
      paused: false,
      frozenUntil: msAt(3),
    })
    expect(await driver.family('b/', at(1))).toEqual({
      ...idle,
      path: 'b/',
      pattern: 'b/',
      state: 'paused',
      paused: true,
    })
    await driver.admit(request('x', { key: 'a/x' }), at(1))
    expect(await driver.family('a/', at(1))).toMatchObject({ state: 'frozen', nextDepartureAt: msAt(3) })
    await driver.admit(request('y', { key: 'c/x' }), at(1))
    await driver.admit(request('z', { key: 'c/y' }), at(1))
    expect(await driver.family('c/', at(1))).toMatchObject({ state: 'full', fill: 1 })
  })

  test('shows what quotas and places count, and what holds the next job', async () => {
    const driver = await openFor(open, { '*': '9, 10/s', 'a/': '20, 1/s, 2/minute, 2 at once' })
    for (const id of ['x', 'y', 'z']) await driver.admit(request(id, { key: `a/${id}` }), at(0))
    await driver.startNext(at(0))
    expect(await driver.family('a/', at(0.5))).toMatchObject({
      quotas: [{ quota: '2/minute', used: 1, amount: 2 }],
      places: { taken: 1, of: 2 },
      heldBy: { reason: 'slot', until: msAt(1) },
    })
    const second = await driver.startNext(at(1))
    expect(await driver.family('a/', at(3))).toMatchObject({
      places: { taken: 2, of: 2 },
      heldBy: { reason: 'place' },
    })
    await driver.finish(second!.id, COMPLETED, at(4))
    const view = await driver.family('a/', at(4))
    expect(view).toMatchObject({
      quotas: [{ quota: '2/minute', used: 2, amount: 2, roomAt: view?.nextDepartureAt }],
      places: { taken: 1, of: 2 },
      heldBy: { reason: 'quota', quota: '2/minute', until: view?.nextDepartureAt },
    })
    expect(view?.nextDepartureAt).toBeGreaterThanOrEqual(msAt(60))
  })
})

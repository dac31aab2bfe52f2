import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { at, COMPLETED, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

describe.each(DRIVERS)('%s: forget', (_, open) => {
  test('a bucket that is empty and whose next has passed, and nothing stays in the store', async () => {
    const driver = await openFor(open, '9, 1/s', 0)
    await driver.lineUp('w', at(0))
    await driver.runUntil(at(0))
    await driver.forget(at(60))
    // The shaper's own numbers may stay; what is there after one job is all that there ever will be.
    const own = await driver.stored()
    await driver.admitMany(
      [...'xyz'].map((id, index) => request(id, { key: `k/${id}`, cost: index + 1, deadline: at(99) })),
      at(60),
    )
    await driver.lineUp('pqr', at(60))
    for (let start = 0; start < 4; start++) await driver.startNext(at(60))
    await driver.finish('x', failAndRetry(at(61)), at(60))
    await driver.finish('y', { kind: 'freeze', until: at(62) }, at(60))
    await driver.pause('k/z', at(60))
    await driver.resume('k/z', at(60))
    await driver.cancel('q', at(60))
    await driver.finish('z', { kind: 'failed', error: 'no' }, at(60))
    await driver.finish('p', COMPLETED, at(60))
    await driver.runUntil(at(70))
    await driver.forget(at(100))
    expect(await driver.list({}, at(100))).toEqual({ buckets: [], total: 0 })
    expect(await driver.inspect('a', at(100))).toBeUndefined()
    await driver.lineUp('v', at(200))
    await driver.runUntil(at(200))
    await driver.forget(at(300))
    expect(await driver.stored()).toEqual(own)
    expect(await driver.audit()).toMatchObject({ waiting: 0, running: 0, retrying: 0 })
  })

  test('not before its next, not while it waits, runs, backs off, is paused or frozen', async () => {
    const driver = await openFor(open, '9, 1/s')
    for (const key of ['idle', 'runs', 'retries']) {
      await driver.admit(request(key, { key }), at(0))
      await driver.startNext(at(0))
    }
    await driver.finish('idle', COMPLETED, at(0))
    await driver.finish('retries', failAndRetry(at(99)), at(0))
    await driver.admit(request('waits', { key: 'waits' }), at(0))
    await driver.pause('paused', at(0))
    await driver.freeze('frozen', at(50), at(0))
    const forgotten = async (seconds: number) => {
      await driver.forget(at(seconds))
      return (await driver.list({ sort: 'key' }, at(seconds))).buckets.map(({ key }) => key)
    }
    await driver.forget(at(1) - 1)
    expect((await driver.list({}, at(1) - 1)).total).toBe(6)
    expect(await forgotten(1)).toEqual(['frozen', 'paused', 'retries', 'runs', 'waits'])
    expect(await forgotten(50)).toEqual(['paused', 'retries', 'runs', 'waits'])
    await driver.finish('runs', COMPLETED, at(50))
    await driver.cancel('retries', at(50))
    await driver.cancel('waits', at(50))
    await driver.resume('paused', at(50))
    expect(await forgotten(50)).toEqual([])
    expect(await driver.audit()).toMatchObject({ admitted: 4, ended: 4 })
  })

  test('one with quotas, as soon as nothing counts in them any more', async () => {
    const driver = await openFor(open, '9, 10/s, 3/second, 5 per 2 seconds, tolerance 0')
    await driver.lineUp('x', at(0))
    await driver.runUntil(at(0))
    const part = Math.ceil((2 * SECOND) / 60)
    const end = (Math.floor(at(0) / part) + 1) * part + 2 * SECOND
    await driver.forget(end - 1)
    expect(await driver.list({}, end - 1)).toMatchObject({ buckets: [{ key: 'a' }], total: 1 })
    await driver.forget(end)
    expect(await driver.list({}, end)).toEqual({ buckets: [], total: 0 })
    expect(await driver.inspect('a', end)).toBeUndefined()
  })

  test('one that is used again before it was forgotten is not', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.runUntil(at(0))
    await driver.lineUp('y', at(5))
    await driver.forget(at(5))
    expect(await driver.inspect('a', at(5))).toMatchObject({ jobs: 1 })
    expect(await driver.runUntil(at(5))).toEqual([['y', 5]])
    await driver.forget(at(5.5))
    expect(await driver.admit(request('z'), at(5.5))).toMatchObject({ departsAt: msAt(6) })
  })

  test('many at once', async () => {
    const driver = await openFor(open, '9, 1/s', 0)
    const keys = Array.from({ length: 250 }, (_, index) => `k${index}`)
    for (const key of keys) await driver.freeze(key, at(1), at(0))
    expect(await driver.list({ limit: 1 }, at(0))).toMatchObject({ total: 250 })
    await driver.forget(at(1))
    expect(await driver.list({}, at(1))).toMatchObject({ total: 0 })
  })
})

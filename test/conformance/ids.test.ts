import { describe, expect, test } from 'vitest'
import { IdConflictError } from '../../src/core/errors.ts'
import type { AuditedDriver } from '../support/audited-driver.ts'
import { at, COMPLETED, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const X_OF_A = request('x', { key: 'a/1', data: '"of a"' })
const X_OF_B = request('x', { key: 'b/1', data: '"of b"' })

/** Ends jobs of a key, one after the other, each at `seconds`. */
async function endMany(
  driver: AuditedDriver,
  ids: readonly string[],
  key: string,
  seconds: number,
): Promise<void> {
  for (const id of ids) {
    await driver.admit(request(id, { key }), at(seconds))
    expect(await driver.cancel(id, at(seconds), key)).toBe(true)
  }
}

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

describe.each(DRIVERS)('%s: ids', (_, open) => {
  test('are of the first segment: another that uses the same one gets a job of its own', async () => {
    const driver = await openFor(open, '9, 1/s')
    const [first, second] = [await driver.admit(X_OF_A, at(0)), await driver.admit(X_OF_B, at(0))]
    expect([first, second]).toMatchObject([
      { accepted: true, id: 'x', key: 'a/1' },
      { accepted: true, id: 'x', key: 'b/1' },
    ])
    expect(first).not.toHaveProperty('replayed')
    expect(second).not.toHaveProperty('replayed')
    // Each gets its own answer again, and keeps no other waiting.
    expect(await driver.admit(X_OF_A, at(1))).toMatchObject({ id: 'x', key: 'a/1', replayed: true })
    expect(await driver.admit(X_OF_B, at(1))).toMatchObject({ id: 'x', key: 'b/1', replayed: true })
    for (const key of ['a/1', 'b/1', 'b/2']) {
      const other = request('x', { key, data: '"another"' })
      await expect(driver.admit(other, at(1))).rejects.toThrow(IdConflictError)
    }
    expect(await driver.audit()).toMatchObject({ admitted: 2, waiting: 2 })
  })

  test('find the job of the segment that is named, else the one that was there first', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(X_OF_A, at(0))
    await driver.admit(X_OF_B, at(0))
    expect(await driver.job('x', at(0), 'b')).toMatchObject({
      id: 'x',
      key: 'b/1',
      data: 'of b',
      position: 1,
    })
    expect(await driver.job('x', at(0), 'b/other')).toMatchObject({ key: 'b/1' })
    expect(await driver.job('x', at(0), 'a')).toMatchObject({ id: 'x', key: 'a/1', data: 'of a' })
    expect(await driver.job('x', at(0))).toMatchObject({ key: 'a/1' })
    expect(await driver.job('x', at(0), 'c')).toBeUndefined()
    expect(await driver.facts('x', at(0), 'b')).toMatchObject({ id: 'x', key: 'b/1' })
    expect((await driver.line('b/1', 9, at(0)))?.jobs).toMatchObject([{ id: 'x' }])
    expect(await driver.cancel('x', at(0), 'c')).toBe(false)
    expect(await driver.cancel('x', at(0), 'b')).toBe(true)
    expect(await driver.job('x', at(0), 'b')).toMatchObject({ state: 'cancelled' })
    expect(await driver.job('x', at(0), 'a')).toMatchObject({ state: 'waiting' })
    expect(await driver.cancel('x', at(0))).toBe(true)
    expect(await driver.job('x', at(0), 'a')).toMatchObject({ state: 'cancelled' })
  })

  test('come in one batch from several segments', async () => {
    const driver = await openFor(open, '9, 1/s')
    expect(await driver.admitMany([X_OF_A, X_OF_B, X_OF_A, X_OF_B], at(0))).toMatchObject([
      { id: 'x', key: 'a/1' },
      { id: 'x', key: 'b/1' },
      { id: 'x', key: 'a/1', replayed: true },
      { id: 'x', key: 'b/1', replayed: true },
    ])
    expect(await driver.audit()).toMatchObject({ admitted: 2 })
    const clash = [request('y', { key: 'b/1' }), request('y', { key: 'b/2' })]
    await expect(driver.admitMany(clash, at(0))).rejects.toThrow(IdConflictError)
  })

  test('are what handlers get, and jobs of both segments run to their ends', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('w', { key: 'b/1' }), at(0))
    await driver.admit(X_OF_A, at(0))
    await driver.admit(X_OF_B, at(0))
    const started: (string | undefined)[] = []
    for (const seconds of [0, 0, 1]) {
      const job = await driver.startNext(at(seconds))
      started.push(`${job?.key} ${job?.id}`)
      await driver.finish(job!.id, COMPLETED, at(seconds))
    }
    expect(started.sort()).toEqual(['a/1 x', 'b/1 w', 'b/1 x'])
    for (const key of ['a', 'b'])
      expect(await driver.job('x', at(1), key)).toMatchObject({ state: 'completed' })
  })

  test('stay taken although other segments end many jobs', async () => {
    const driver = await openFor(open, '1000, 1/s', { jobs: 5, time: 0, most: 1_000 })
    await endMany(driver, ['mine'], 'a/1', 0)
    await endMany(driver, named('n', 40), 'b/1', 30)
    await endMany(driver, ['last'], 'b/1', 60)
    expect(await driver.admit(request('mine', { key: 'a/1' }), at(60))).toMatchObject({ replayed: true })
    expect(await driver.job('n0', at(60))).toBeUndefined()
    expect(await driver.job('n38', at(60))).toBeDefined()
  })

  test('stay taken for a time, however many jobs the same segment ends', async () => {
    const driver = await openFor(open, '1000, 1/s', { jobs: 2, time: 100_000_000, most: 1_000 })
    await endMany(driver, named('n', 20), 'a/1', 0)
    await endMany(driver, ['later'], 'a/1', 99)
    expect(await driver.admit(request('n0', { key: 'a/1' }), at(99))).toMatchObject({ replayed: true })
    await endMany(driver, ['last'], 'a/1', 101)
    expect(await driver.job('n0', at(101))).toBeUndefined()
    expect(await driver.job('later', at(101))).toBeDefined()
  })

  test('of the segment that has most are forgotten first where there is no room', async () => {
    const driver = await openFor(open, '1000, 1/s', { jobs: 100, time: 0, most: 20 })
    await endMany(driver, named('a', 5), 'a', 0)
    await endMany(driver, named('b', 30), 'b', 1)
    await endMany(driver, ['last'], 'b', 60)
    for (const id of named('a', 5)) expect(await driver.job(id, at(60))).toBeDefined()
    const known = await Promise.all(named('b', 30).map((id) => driver.job(id, at(60))))
    expect(known.filter((job) => job !== undefined)).toHaveLength(14)
    expect(known.at(-1)).toBeDefined()
  })

  test('of a segment that gave its name up and took another are found again', async () => {
    const driver = await openFor(open, '1000, 1/s', { jobs: 1, time: 0, most: 1_000 })
    await endMany(driver, ['x'], 'a/1', 0)
    await driver.admit(X_OF_B, at(0))
    // The first is forgotten.
    await endMany(driver, ['other'], 'a/1', 30)
    await endMany(driver, ['another'], 'a/1', 60)
    expect(await driver.job('x', at(60), 'a')).toBeUndefined()
    expect(await driver.admit(X_OF_B, at(60))).toMatchObject({ replayed: true, key: 'b/1' })
    expect(await driver.admit(X_OF_A, at(60))).not.toHaveProperty('replayed')
    expect(await driver.job('x', at(60), 'a')).toMatchObject({ key: 'a/1' })
    expect(await driver.job('x', at(60), 'b')).toMatchObject({ key: 'b/1' })
  })
})

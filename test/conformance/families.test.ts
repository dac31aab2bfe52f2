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

  test('has the limit in force, also where nothing lives below it', async () => {
    const driver = await openFor(open, { '*': '9, 10/s', 'a/': '2, 1/s', 'a/*/': '3, 1/s', 'b/': '4, 2/s' })
    for (const path of ['a/x/', 'b/']) await driver.pause(path, at(0))
    await driver.setRule('a/', '5, 2/s, weight 2, 6/minute', at(1))
    expect(await driver.family('a/', at(1))).toMatchObject({
      limit: '5, 2/s, 6/minute, weight 2',
      capacity: 5,
      quotas: [{ quota: '6/minute', used: 0, amount: 6 }],
    })
    expect(await driver.family('a/x/', at(1))).toMatchObject({ limit: '3, 1/s', total: 'a/', paused: true })
    await driver.setRule('a/x/', '6, 3/s, weight 3', at(2))
    expect(await driver.family('a/x/', at(2))).toMatchObject({ pattern: 'a/x/', limit: '6, 3/s, weight 3' })
    await driver.setRule('b/', '7, 4/s', at(3))
    const { families } = await driver.families({ sort: 'path' }, at(3))
    expect(families.map(({ path, limit, paused }) => [path, limit, paused])).toEqual([
      ['a/', '5, 2/s, 6/minute, weight 2', false],
      ['a/x/', '6, 3/s, weight 3', true],
      ['b/', '7, 4/s', true],
    ])
    await driver.resume('a/x/', at(3))
    await driver.admit(request('x', { key: 'a/x/1' }), at(3))
    expect(await driver.startNext(at(3))).toMatchObject({ key: 'a/x/1' })
  })

  test('holds the next job only by what is its own: not by the limits below it, nor by those above', async () => {
    const driver = await openFor(open, {
      ...{ '*': '9, 1/s', 'a/': '20, 2/s', 'b/': '20, 0.1/s', 'b/c/': '20, 2/s', 'd/': '20, 9/s, 2 at once' },
    })
    for (const [index, key] of ['a/x', 'a/x', 'b/c/x', 'b/c/y', 'd/x', 'd/x'].entries()) {
      await driver.admit(request(`j${index}`, { key }), at(0))
    }
    for (let start = 0; start < 3; start++) expect(await driver.startNext(at(0))).toBeDefined()
    // The total lets it go at 0.5 s, and its own bucket at 1 s.
    expect(await driver.family('a/', at(0.25))).toMatchObject({ waiting: 1, nextDepartureAt: msAt(1) })
    expect(await driver.family('a/', at(0.25))).not.toHaveProperty('heldBy')
    expect(await driver.family('d/', at(0.25))).not.toHaveProperty('heldBy')
    // The one above lets it go at 10 s.
    expect(await driver.family('b/c/', at(0.75))).toMatchObject({ waiting: 1, nextDepartureAt: msAt(10) })
    expect(await driver.family('b/c/', at(0.75))).not.toHaveProperty('heldBy')
    expect(await driver.family('b/', at(0.75))).toMatchObject({
      heldBy: { reason: 'slot', until: msAt(10) },
    })
    await driver.freeze('b/', at(12), at(0.75))
    expect(await driver.family('b/', at(0.75))).toMatchObject({
      heldBy: { reason: 'frozen', until: msAt(12), detail: 'b/ is frozen' },
    })
    await driver.pause('b/', at(0.75))
    expect(await driver.family('b/', at(0.75))).toMatchObject({
      heldBy: { reason: 'paused', detail: 'b/ is paused until it is resumed' },
    })
    await driver.pause('a/x', at(0.75))
    expect(await driver.family('a/', at(0.75))).not.toHaveProperty('heldBy')
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

  test('names no hold of its own where the total above it, or a key below it, holds the job', async () => {
    const driver = await openFor(open, { '*': '9, 10/s', 'a/': '20, 1/s', 'a/b/': '9, 10/s, 2 at once' })
    for (const id of ['x', 'y']) await driver.admit(request(id, { key: 'a/b/c' }), at(0))
    const started = await driver.startNext(at(0))
    const aboveIsLater = await driver.family('a/b/', at(0.5))
    expect(aboveIsLater).toMatchObject({ waiting: 1, nextDepartureAt: msAt(1) })
    expect(aboveIsLater).not.toHaveProperty('heldBy')
    await driver.pause('a/', at(0.5))
    expect(await driver.family('a/b/', at(0.5))).not.toHaveProperty('heldBy')
    await driver.resume('a/', at(0.5))
    await driver.pause('a/b/c', at(0.5))
    const belowIsPaused = await driver.family('a/b/', at(2))
    expect(belowIsPaused).toMatchObject({ waiting: 1, places: { taken: 1, of: 2 } })
    expect(belowIsPaused).not.toHaveProperty('heldBy')
    await driver.finish(started!.id, COMPLETED, at(2))
  })
})

describe.each(DRIVERS)('%s: a bucket below totals', (_, open) => {
  test('names the total right above it, and departs no earlier than those above it allow', async () => {
    const driver = await openFor(open, { '*': '9, 10/s', 'a/': '20, 1/s', 'a/b/': '9, 10/s' })
    for (const key of ['a/b/c', 'a/d', 'e']) await driver.admit(request(key, { key }), at(0))
    expect(await driver.inspect('a/b/c', at(0))).toMatchObject({ total: 'a/b/', nextDepartureAt: msAt(0) })
    expect(await driver.inspect('a/d', at(0))).toMatchObject({ total: 'a/' })
    expect(await driver.inspect('e', at(0))).not.toHaveProperty('total')
    const started = new Set([(await driver.startNext(at(0)))!.key, (await driver.startNext(at(0)))!.key])
    const left = ['a/b/c', 'a/d'].find((key) => !started.has(key))!
    expect(await driver.inspect(left, at(0.5))).toMatchObject({ nextDepartureAt: msAt(1) })
    const { buckets } = await driver.list({ sort: '-nextDepartureAt', under: 'a' }, at(0.5))
    expect(buckets[0]).toMatchObject({ key: left, nextDepartureAt: msAt(1) })
    await driver.pause('a/', at(0.5))
    expect(await driver.inspect(left, at(0.5))).not.toHaveProperty('nextDepartureAt')
  })
})

describe.each(DRIVERS)('%s: a list of totals', (_, open) => {
  const LIMITS = { '*': '9, 10/s', '*/': '10, 1/s', '*/*/': '5, 1/s' }
  const filled = async () => {
    const driver = await openFor(open, LIMITS)
    const jobs = { 'a/1/x': 3, 'a/2/x': 1, 'ab/1/x': 2, 'b/1/x': 1 }
    for (const [key, count] of Object.entries(jobs)) {
      for (let n = 0; n < count; n++) await driver.admit(request(`${key}-${n}`, { key }), at(0))
    }
    return driver
  }

  test('has all that live, the fullest first, or by any column', async () => {
    const driver = await filled()
    const { families, total, cursor } = await driver.families({}, at(0))
    expect(families.map(({ path }) => path)).toEqual(['a/1/', 'a/', 'ab/1/', 'a/2/', 'ab/', 'b/1/', 'b/'])
    expect([total, cursor]).toEqual([7, undefined])
    expect(families[0]).toEqual(await driver.family('a/1/', at(0)))
    const byPath = await driver.families({ sort: 'path' }, at(0))
    expect(byPath.families.map(({ path }) => path)).toEqual([
      'a/',
      'a/1/',
      'a/2/',
      'ab/',
      'ab/1/',
      'b/',
      'b/1/',
    ])
    const byWaiting = await driver.families({ sort: '-waiting', limit: 2 }, at(0))
    expect(byWaiting.families.map(({ waiting }) => waiting)).toEqual([4, 3])
  })

  test('has only those below a key, if it is asked so', async () => {
    const driver = await filled()
    const { families, total } = await driver.families({ under: 'a', sort: 'path' }, at(0))
    expect(families.map(({ path }) => path)).toEqual(['a/', 'a/1/', 'a/2/'])
    expect(total).toBe(3)
    expect(await driver.families({ under: 'c' }, at(0))).toEqual({ families: [], total: 0 })
  })

  test('comes in pages, each total on one of them', async () => {
    const driver = await filled()
    const paths: string[] = []
    let cursor: string | undefined
    do {
      const page = await driver.families({ limit: 2, sort: 'fill', ...(cursor && { cursor }) }, at(0))
      expect(page.total).toBe(7)
      paths.push(...page.families.map(({ path }) => path))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(paths).toEqual(['b/', 'a/2/', 'ab/', 'b/1/', 'a/', 'ab/1/', 'a/1/'])
    const other = (await driver.families({ limit: 2 }, at(0))).cursor!
    await expect(driver.families({ sort: 'path', cursor: other }, at(0))).rejects.toThrow(
      'families: expected cursor to come from an earlier page of the same order',
    )
  })
})

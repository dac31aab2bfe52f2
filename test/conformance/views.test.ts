import { describe, expect, test } from 'vitest'
import { at, COMPLETED, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

describe.each(DRIVERS)('%s: job', (_, open) => {
  test('has every field, in every state', async () => {
    const driver = await openFor(open, '9, 1/s')
    const known = {
      id: 'x',
      key: 'a',
      cost: 2,
      data: { n: [1, {}] },
      attempts: 3,
      admittedAt: msAt(0),
      deadlineAt: msAt(60),
    }
    const data = JSON.stringify(known.data)
    await driver.admit(request('x', { cost: 2, data, deadline: at(60) }), at(0))
    expect(await driver.job('x', at(0))).toEqual({ ...known, state: 'waiting', attempt: 0, position: 1 })
    await driver.startNext(at(0.001))
    const departedAt = msAt(0.001)
    expect(await driver.job('x', at(1))).toEqual({ ...known, state: 'running', attempt: 1, departedAt })
    await driver.finish('x', failAndRetry(at(4)), at(1))
    expect(await driver.job('x', at(2))).toEqual({
      ...known,
      state: 'retrying',
      attempt: 1,
      position: 1,
      departedAt,
      error: 'as planned',
    })
    await driver.startNext(at(4))
    await driver.finish('x', { kind: 'completed', result: '[[],{}]' }, at(5))
    expect(await driver.job('x', at(6))).toEqual({
      ...known,
      state: 'completed',
      attempt: 2,
      departedAt: msAt(4),
      endedAt: msAt(5),
      result: [[], {}],
      error: 'as planned',
    })
    expect(await driver.job('unknown', at(6))).toBeUndefined()
  })

  test('keeps the last jobs that ended, and forgets older ones', async () => {
    const driver = await openFor(open, '99, 1/s', 2)
    for (const [index, id] of [...'uvwxyz'].entries()) {
      const seconds = index * 60
      await driver.lineUp(id, at(seconds))
      if (index % 2 === 0) await driver.runUntil(at(seconds))
      else await driver.cancel(id, at(seconds))
    }
    const views = await Promise.all([...'uvwxyz'].map((id) => driver.job(id, at(300))))
    expect(views.map((view) => view?.state)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      'completed',
      'cancelled',
    ])
    expect(await driver.audit()).toMatchObject({ admitted: 6, ended: 6 })
  })
})

describe.each(DRIVERS)('%s: inspect', (_, open) => {
  test('has every field, while jobs wait, run and back off, and none is there', async () => {
    const driver = await openFor(open, '4, 1/s')
    const known = {
      key: 'a',
      pattern: '*',
      limit: '4, 1/s',
      capacity: 4,
      paused: false,
      durability: expect.any(String),
    }
    expect(await driver.inspect('a', at(0))).toBeUndefined()
    await driver.lineUp('x', at(0))
    await driver.lineUp('y', at(0.25), { cost: 2 })
    expect(await driver.inspect('a', at(0.5))).toEqual({
      ...known,
      state: 'waiting',
      waiting: 3,
      fill: 0.75,
      jobs: 2,
      retrying: 0,
      running: 0,
      nextDepartureAt: msAt(0.5),
      oldestWaitMs: 500,
      waitingSince: msAt(0),
      lastUsedAt: msAt(0.25),
    })
    await driver.startNext(at(0.5))
    expect(await driver.inspect('a', at(0.75))).toEqual({
      ...known,
      state: 'waiting',
      waiting: 2,
      fill: 0.5,
      jobs: 1,
      retrying: 0,
      running: 1,
      nextDepartureAt: msAt(1.5),
      oldestWaitMs: 500,
      waitingSince: msAt(0.25),
      lastUsedAt: msAt(0.5),
    })
    await driver.finish('x', failAndRetry(at(9)), at(1))
    expect(await driver.inspect('a', at(1))).toEqual({
      ...known,
      state: 'waiting',
      waiting: 3,
      fill: 0.75,
      jobs: 1,
      retrying: 1,
      running: 0,
      nextDepartureAt: msAt(1.5),
      oldestWaitMs: 1_000,
      waitingSince: msAt(0),
      lastUsedAt: msAt(0.5),
    })
    await driver.startNext(at(1.5))
    await driver.finish('y', COMPLETED, at(1.5))
    expect(await driver.inspect('a', at(2))).toMatchObject({ fill: 0.25, nextDepartureAt: msAt(9) })
    await driver.cancel('x', at(3))
    expect(await driver.inspect('a', at(3))).toEqual({
      ...known,
      state: 'idle',
      waiting: 0,
      fill: 0,
      jobs: 0,
      retrying: 0,
      running: 0,
      oldestWaitMs: 0,
      lastUsedAt: msAt(1.5),
    })
  })

  test('shows a frozen and a paused bucket that were never used', async () => {
    const driver = await openFor(open, '4, 1/s')
    const empty = { pattern: '*', limit: '4, 1/s', waiting: 0, capacity: 4, fill: 0, jobs: 0, retrying: 0 }
    const idle = { ...empty, running: 0, oldestWaitMs: 0, durability: expect.any(String) }
    await driver.freeze('f', at(3), at(0))
    await driver.pause('p', at(0))
    expect(await driver.inspect('f', at(1))).toEqual({
      ...idle,
      key: 'f',
      state: 'frozen',
      paused: false,
      frozenUntil: msAt(3),
    })
    expect(await driver.inspect('p', at(1))).toEqual({ ...idle, key: 'p', state: 'paused', paused: true })
  })

  test('is full when not one cost unit fits', async () => {
    const driver = await openFor(open, '4, 1/s')
    await driver.lineUp('x', at(0), { cost: 3 })
    expect(await driver.inspect('a', at(0))).toMatchObject({ state: 'waiting', fill: 0.75 })
    await driver.lineUp('y', at(0))
    expect(await driver.inspect('a', at(0))).toMatchObject({ state: 'full', fill: 1 })
  })
})

describe.each(DRIVERS)('%s: list', (_, open) => {
  const keysOf = (page: { buckets: readonly { key: string }[] }) => page.buckets.map(({ key }) => key)

  test('filters, sorts and turns pages', async () => {
    const driver = await openFor(open, { '*': '4, 1/s', 'a/tight': '1, 1/s' })
    const depths = { 'a/one': 1, 'a/two': 2, 'b/three': 3, 'a/tight': 1, 'b/four': 4 }
    for (const [key, depth] of Object.entries(depths)) {
      for (let n = 0; n < depth; n++) {
        await driver.admit(request(`${key.replace('/', '-')}-${n}`, { key }), at(depth))
      }
    }
    await driver.pause('b/three', at(5))
    const list = async (query: Parameters<typeof driver.list>[0]) => driver.list(query, at(6))
    expect(keysOf(await list({}))).toEqual(['a/tight', 'b/four', 'b/three', 'a/two', 'a/one'])
    expect(keysOf(await list({ sort: 'key' }))).toEqual(Object.keys(depths).sort())
    expect(keysOf(await list({ prefix: 'a/', sort: '-waiting' }))).toEqual(['a/two', 'a/one', 'a/tight'])
    expect(keysOf(await list({ state: 'full', sort: 'key' }))).toEqual(['a/tight', 'b/four'])
    expect(keysOf(await list({ state: 'paused' }))).toEqual(['b/three'])
    expect(keysOf(await list({ minFill: 0.5, maxFill: 0.75, sort: 'fill' }))).toEqual(['a/two', 'b/three'])
    expect(keysOf(await list({ sort: '-oldestWaitMs', limit: 2 }))).toEqual(['a/one', 'a/tight'])
    const first = await list({ sort: 'lastUsedAt', limit: 2 })
    expect([keysOf(first), first.total]).toEqual([['a/one', 'a/tight'], 5])
    const second = await list({ sort: 'lastUsedAt', limit: 2, cursor: first.cursor })
    const third = await list({ sort: 'lastUsedAt', limit: 2, cursor: second.cursor })
    expect([keysOf(second), keysOf(third), third.cursor]).toEqual([
      ['a/two', 'b/three'],
      ['b/four'],
      undefined,
    ])
  })

  test('shows what inspect shows, of every bucket', async () => {
    const driver = await openFor(open, '9, 3/s')
    for (const key of 'abcde') await driver.lineUp(`${key}`, at(0), { key })
    await driver.startNext(at(0))
    await driver.startNext(at(0))
    await driver.finish('a', failAndRetry(at(7)), at(1))
    await driver.finish('b', { kind: 'freeze', until: at(8) }, at(1))
    await driver.pause('c', at(1))
    const { buckets, total } = await driver.list({ sort: 'key' }, at(2))
    expect(total).toBe(5)
    for (const view of buckets) expect(await driver.inspect(view.key, at(2))).toEqual(view)
    expect(buckets.map(({ state }) => state)).toEqual(['waiting', 'frozen', 'paused', 'waiting', 'waiting'])
  })

  test('is empty without buckets', async () => {
    const driver = await openFor(open, '9, 3/s')
    expect(await driver.list({}, at(0))).toEqual({ buckets: [], total: 0 })
  })

  test('no bucket waits longer than any number says', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('x'), at(0))
    const { buckets } = await driver.list({ minOldestWaitMs: Number.MAX_VALUE }, at(1))
    expect(buckets).toEqual([])
  })
})

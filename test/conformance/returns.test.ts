import { describe, expect, test } from 'vitest'
import type { AuditedDriver } from '../support/audited-driver.ts'
import { at, COMPLETED, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

/** Starts each job that is due and lets it fail, to be retried after `backoff` seconds. */
async function failNext(driver: AuditedDriver, seconds: number, backoff = 0): Promise<string | undefined> {
  const started = await driver.startNext(at(seconds))
  if (started !== undefined) await driver.finish(started.id, failAndRetry(at(seconds + backoff)), at(seconds))
  return started?.id
}

describe.each(DRIVERS)('%s: retries', (_, open) => {
  test('running -> retrying -> running, not before it is ready', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    const { fence } = (await driver.startNext(at(0)))!
    await driver.finish('x', failAndRetry(at(5)), at(0.25))
    expect(await driver.job('x', at(1))).toMatchObject({
      state: 'retrying',
      attempt: 1,
      position: 1,
      error: 'as planned',
      departedAt: msAt(0),
    })
    expect(await driver.inspect('a', at(1))).toMatchObject({
      waiting: 1,
      jobs: 0,
      retrying: 1,
      running: 0,
      fill: 1 / 9,
      nextDepartureAt: msAt(5),
    })
    expect(await driver.audit()).toMatchObject({ waiting: 0, retrying: 1, running: 0, ended: 0 })
    expect(await driver.startNext(at(5) - 1)).toBeUndefined()
    const again = await driver.startNext(at(5))
    expect(again).toMatchObject({ id: 'x', attempt: 2, slot: at(5), admittedAt: at(0) })
    expect(again!.fence).toBeGreaterThan(fence)
    await driver.finish('x', COMPLETED, at(6))
    expect(await driver.job('x', at(6))).toMatchObject({ state: 'completed', attempt: 2, endedAt: msAt(6) })
  })

  test('a long line of jobs that cost 1 each names the exact time of room, though one of them is to be retried', async () => {
    const driver = await openFor(open, '400, 10/s')
    for (let n = 0; n < 300; n++) await driver.admit(request(`j${n}`), at(0))
    await failNext(driver, 0, 60)
    const full = { accepted: false, reason: 'full', key: 'a', waiting: 300, capacity: 400 }
    // 250 depart without the one that waits for its time.
    const answer = await driver.admit(request('big', { cost: 350 }), at(0))
    expect(answer).toEqual({ ...full, retryAfterMs: 25_000 })
    // Where that one decides, too, most may come before it or after it.
    const whole = await driver.admit(request('whole', { cost: 400 }), at(0))
    expect(whole).toEqual({ ...full, retryAfterMs: 79_900, isEstimate: true })
  })

  test('a retry takes the next slot, not its own time', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    expect(await failNext(driver, 0, 0.3)).toBe('x')
    expect(await driver.startNext(at(0.999))).toBeUndefined()
    expect(await driver.startNext(at(1))).toMatchObject({ id: 'x', attempt: 2, slot: at(1) })
  })

  test('while new jobs wait, retries have at most every second slot', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xabcd', at(0))
    const starts: (string | undefined)[] = []
    for (let seconds = 0; seconds < 8; seconds++) {
      const { id } = (await driver.startNext(at(seconds)))!
      starts.push(id)
      const ending = id === 'x' ? failAndRetry(at(seconds)) : COMPLETED
      await driver.finish(id, ending, at(seconds))
    }
    expect(starts).toEqual(['x', 'x', 'a', 'x', 'b', 'x', 'c', 'x'])
  })

  test('with no other job in line retries have every slot', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    const starts: (string | undefined)[] = []
    for (let seconds = 0; seconds < 5; seconds++) starts.push(await failNext(driver, seconds))
    expect(starts).toEqual(['x', 'x', 'y', 'x', 'y'])
  })

  test('one that is not ready lets the line go first', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    await failNext(driver, 0, 1.5)
    expect(await driver.runUntil(at(9))).toEqual([
      ['y', 1],
      ['x', 2],
      ['z', 3],
    ])
  })

  test('of several, the one that is ready first departs first', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    for (const [seconds, backoff] of [
      [0, 60],
      [1, 10],
      [2, 30],
    ] as const) {
      await failNext(driver, seconds, backoff)
    }
    expect(await driver.runUntil(at(99))).toEqual([
      ['y', 11],
      ['z', 32],
      ['x', 60],
    ])
  })

  test('a retry is never refused, though line and retries exceed the capacity together', async () => {
    const driver = await openFor(open, '2, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.lineUp('yz', at(0))
    await driver.finish('x', failAndRetry(at(0)), at(0.5))
    expect(await driver.inspect('a', at(0.5))).toMatchObject({
      waiting: 3,
      retrying: 1,
      fill: 1.5,
      state: 'full',
    })
    expect(await driver.admit(request('q'), at(0.5))).toEqual({
      accepted: false,
      reason: 'full',
      key: 'a',
      retryAfterMs: 1_500,
      waiting: 3,
      capacity: 2,
    })
    await driver.runUntil(at(2))
    expect(await driver.admit(request('q'), at(2))).toMatchObject({ accepted: true, position: 2 })
  })

  test('a new job learns what goes before it, without retries that come later', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xyz', at(0))
    await failNext(driver, 0, 60)
    expect(await driver.admit(request('p'), at(0))).toMatchObject({ position: 3, departsAt: msAt(3) })
    await failNext(driver, 1, 0.5)
    expect(await driver.admit(request('q'), at(1.5))).toMatchObject({ position: 4, departsAt: msAt(5) })
    const positions = await Promise.all([...'yzpqx'].map((id) => driver.job(id, at(1.5))))
    expect(positions.map((view) => view!.position)).toEqual([1, 2, 3, 4, 5])
    expect(await driver.runUntil(at(70))).toEqual([
      ['y', 2],
      ['z', 3],
      ['p', 4],
      ['q', 5],
      ['x', 60],
    ])
  })

  test('the cost of a retry keeps its distance', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0), { cost: 3 })
    await driver.lineUp('y', at(0))
    await failNext(driver, 0)
    expect(await driver.runUntil(at(9))).toEqual([
      ['x', 3],
      ['y', 6],
    ])
  })
})

describe.each(DRIVERS)('%s: given back by a freeze', (_, open) => {
  test('first in line, its attempt given back, no start before the end of the freeze', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    await driver.startNext(at(0))
    await driver.finish('x', { kind: 'freeze', until: at(5) }, at(0.5))
    const view = await driver.job('x', at(1))
    expect(view).toMatchObject({ state: 'retrying', attempt: 0, position: 1, departedAt: msAt(0) })
    expect(view!.error).toBeUndefined()
    expect(await driver.inspect('a', at(1))).toMatchObject({
      state: 'frozen',
      frozenUntil: msAt(5),
      jobs: 1,
      retrying: 1,
      waiting: 2,
      nextDepartureAt: msAt(5),
    })
    expect(await driver.startNext(at(5) - 1)).toBeUndefined()
    expect(await driver.startNext(at(5))).toMatchObject({ id: 'x', attempt: 1, slot: at(5) })
    expect(await driver.runUntil(at(6))).toEqual([['y', 6]])
  })

  test('several come back in the order in which they had departed, before retries and the line', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('rxyz', at(0))
    await failNext(driver, 0, 60)
    for (const seconds of [1, 2]) await driver.startNext(at(seconds))
    await driver.finish('y', { kind: 'freeze', until: at(70) }, at(3))
    await driver.finish('x', { kind: 'freeze', until: at(61) }, at(3))
    expect(await driver.runUntil(at(99))).toEqual([
      ['x', 70],
      ['y', 71],
      ['r', 72],
      ['z', 73],
    ])
  })

  test('a shorter freeze never shortens a longer one', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    expect(await driver.freeze('a', at(30), at(0))).toBe(at(30))
    await driver.finish('x', { kind: 'freeze', until: at(2) }, at(1))
    expect(await driver.runUntil(at(99))).toEqual([['x', 30]])
  })

  test('a freeze after a failure keeps the attempts that were used up', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await failNext(driver, 0)
    expect(await driver.startNext(at(1))).toMatchObject({ attempt: 2 })
    await driver.finish('x', { kind: 'freeze', until: at(3) }, at(1))
    expect(await driver.job('x', at(2))).toMatchObject({ attempt: 1, error: 'as planned' })
    expect(await driver.startNext(at(3))).toMatchObject({ id: 'x', attempt: 2 })
  })

  test('they count against new jobs', async () => {
    const driver = await openFor(open, '1, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.finish('x', { kind: 'freeze', until: at(4) }, at(0))
    expect(await driver.admit(request('y'), at(1))).toMatchObject({ reason: 'full', retryAfterMs: 3_000 })
    await driver.startNext(at(4))
    expect(await driver.admit(request('y'), at(4))).toMatchObject({ position: 1, departsAt: msAt(5) })
  })
})

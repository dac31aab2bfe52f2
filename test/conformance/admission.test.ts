import { describe, expect, test } from 'vitest'
import { IdConflictError, NoLimitError } from '../../src/core/errors.ts'
import type { JobRequest } from '../../src/line/job.ts'
import { at, COMPLETED, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const accepted = (id: string, position: number, seconds: number, fill: readonly number[], now = 0) => ({
  accepted: true,
  id,
  key: 'a',
  position,
  departsAt: msAt(seconds),
  waitMs: msAt(seconds) - msAt(now),
  waiting: fill[0],
  capacity: fill[1],
})

const rejected = (reason: string, retryAfterMs: number, waiting: number, capacity: number) => ({
  accepted: false,
  reason,
  key: 'a',
  retryAfterMs,
  waiting,
  capacity,
})

describe.each(DRIVERS)('%s: admit', (_, open) => {
  test.each([
    ['cost 1 each', 1, 300, {}],
    ['are more than it looks at, and cost more', 2, 150, { isEstimate: true }],
    ['cost more, and few decide about it', 10, 30, {}],
  ])('when there is room again, where the jobs before it %s', async (_, cost, jobs, estimate) => {
    const driver = await openFor(open, '400, 10/s')
    for (let n = 0; n < jobs; n++) await driver.admit(request(`j${n}`, { cost }), at(0))
    // All but one unit of what is missing departs first; then what departs makes room.
    const answer = await driver.admit(request('big', { cost: 350 }), at(0))
    const seconds = cost === 10 ? 24 : 24.9
    expect(answer).toEqual({ ...rejected('full', seconds * 1_000, 300, 400), ...estimate })
  })

  test('positions and times follow one another, an interval apart', async () => {
    const driver = await openFor(open, '9, 2/s')
    expect(await driver.admit(request('w'), at(0))).toEqual(accepted('w', 1, 0, [1, 9]))
    expect(await driver.admit(request('x'), at(0))).toEqual(accepted('x', 2, 0.5, [2, 9]))
    const y = request('y', { cost: 3 })
    expect(await driver.admit(y, at(0.25))).toEqual(accepted('y', 3, 1.25, [5, 9], 0.25))
    expect(await driver.admit(request('z'), at(0.5))).toEqual(accepted('z', 4, 3, [6, 9], 0.5))
    expect(await driver.inspect('a', at(0.5))).toMatchObject({ waiting: 6, jobs: 4 })
  })

  test('after a departure the next is an interval times its cost away, also when nothing waits', async () => {
    const driver = await openFor(open, '9, 2/s')
    await driver.lineUp('x', at(0), { cost: 3 })
    await driver.startNext(at(0))
    expect(await driver.admit(request('y'), at(0.25))).toEqual(accepted('y', 1, 1.5, [1, 9], 0.25))
    expect(await driver.admit(request('z'), at(0.25))).toEqual(accepted('z', 2, 2, [2, 9], 0.25))
  })

  test('an interval is never rounded', async () => {
    const driver = await openFor(open, '9, 3/s')
    const admissions = await driver.admitMany(
      [...'vwxyz'].map((id) => request(id)),
      at(0),
    )
    for (const [index, admission] of admissions.entries()) {
      expect(admission).toMatchObject({ departsAt: expect.closeTo(msAt(index / 3), 3) })
    }
    expect(admissions[1]).not.toMatchObject({ departsAt: msAt(0.333) })
  })

  test('a full line rejects, names when there is room, and stays as it was', async () => {
    const driver = await openFor(open, '3, 1/s')
    await driver.lineUp('xyz', at(0))
    const before = [await driver.audit(), await driver.inspect('a', at(0))]
    expect(await driver.admit(request('q'), at(0))).toEqual(rejected('full', 1_000, 3, 3))
    expect([await driver.audit(), await driver.inspect('a', at(0))]).toEqual(before)
    expect(await driver.job('q', at(0))).toBeUndefined()
    await driver.startNext(at(0))
    expect(await driver.admit(request('q'), at(0))).toEqual(accepted('q', 3, 3, [3, 3]))
  })

  test('the wait that a refusal names ends when enough cost units have departed, whole milliseconds', async () => {
    const driver = await openFor(open, '6, 3/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.lineUp('p', at(0), { cost: 2 })
    await driver.lineUp('q', at(0), { cost: 4 })
    expect(await driver.admit(request('z', { cost: 2 }), at(0))).toEqual(rejected('full', 334, 6, 6))
    expect(await driver.admit(request('z', { cost: 3 }), at(0))).toEqual(rejected('full', 1_000, 6, 6))
    expect(await driver.admit(request('z', { cost: 3 }), at(0.1))).toEqual(rejected('full', 900, 6, 6))
  })

  test('a head that is due and still waits leaves an interval as the guess', async () => {
    const driver = await openFor(open, '1, 1/s')
    await driver.lineUp('x', at(0))
    expect(await driver.admit(request('y'), at(9))).toEqual(rejected('full', 1_000, 1, 1))
  })

  test('what costs more than the capacity never fits', async () => {
    const driver = await openFor(open, '3, 1/s')
    expect(await driver.admit(request('x', { cost: 4 }), at(0))).toEqual(
      rejected('too-costly', Number.POSITIVE_INFINITY, 0, 3),
    )
    expect(await driver.admit(request('x', { cost: 3 }), at(0))).toMatchObject({ accepted: true })
  })

  test('a deadline reaches to its microsecond', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('xy', at(0))
    expect(await driver.admit(request('z', { deadline: at(2) - 1 }), at(0))).toEqual(
      rejected('deadline', 1, 2, 9),
    )
    expect(await driver.admit(request('z', { deadline: at(1.2) }), at(0))).toEqual(
      rejected('deadline', 800, 2, 9),
    )
    const z = request('z', { deadline: at(2) })
    expect(await driver.admit(z, at(0))).toEqual(accepted('z', 3, 2, [3, 9]))
  })

  test('a full line and a deadline: the later of the two is returned', async () => {
    const driver = await openFor(open, '2, 1/s')
    await driver.lineUp('xy', at(0))
    const hasty = await driver.admit(request('z', { deadline: at(0.5) }), at(0))
    expect(hasty).toEqual(rejected('deadline', 1_500, 2, 2))
    const patient = await driver.admit(request('z', { deadline: at(1.5) }), at(0))
    expect(patient).toEqual(rejected('full', 1_000, 2, 2))
  })

  test.each(['2, 1/s', '2, 1/s, 90/minute'])(
    'a paused bucket accepts while it has room, and promises neither a deadline nor a time: %s',
    async (limit) => {
      const driver = await openFor(open, limit)
      const isEstimate = true
      await driver.lineUp('x', at(0))
      await driver.pause('a', at(0))
      const urgent = request('z', { deadline: at(60) })
      expect(await driver.admit(urgent, at(0))).toEqual({ ...rejected('paused', 1_000, 1, 2), isEstimate })
      const late = await driver.admit(request('z', { deadline: at(0.5) }), at(0))
      expect(late).toEqual({ ...rejected('deadline', 500, 1, 2), isEstimate })
      expect(await driver.forecast('a', 1, at(0))).toMatchObject({
        accepted: true,
        waitMs: 1_000,
        isEstimate,
      })
      expect(await driver.admit(request('y'), at(0))).toEqual({ ...accepted('y', 2, 1, [2, 2]), isEstimate })
      const again = await driver.admit(request('y'), at(0))
      expect(again).toEqual({ ...accepted('y', 2, 1, [2, 2]), isEstimate, replayed: true })
      expect(await driver.admit(request('z'), at(0))).toEqual({
        ...rejected('paused', 1_000, 2, 2),
        isEstimate,
      })
      await driver.resume('a', at(0))
      expect(await driver.admit(request('z'), at(0))).toEqual(rejected('full', 1_000, 2, 2))
    },
  )

  test('retries count against new jobs, which learn when there is room', async () => {
    const driver = await openFor(open, '2, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.lineUp('y', at(0))
    await driver.finish('x', failAndRetry(at(5)), at(0))
    expect(await driver.admit(request('z'), at(0))).toEqual(rejected('full', 1_000, 2, 2))
    expect(await driver.runUntil(at(1))).toEqual([['y', 1]])
    expect(await driver.admit(request('z'), at(1))).toEqual(accepted('z', 1, 2, [2, 2], 1))
    expect(await driver.admit(request('q'), at(1))).toMatchObject({ reason: 'full', waiting: 2 })
  })

  test('no job is admitted under a key without a limit', async () => {
    const driver = await openFor(open, { b: '9, 1/s' })
    await expect(driver.admit(request('x'), at(0))).rejects.toThrow(NoLimitError)
    await expect(driver.forecast('a', 1, at(0))).rejects.toThrow(NoLimitError)
    await expect(driver.freeze('a', at(1), at(0))).rejects.toThrow(NoLimitError)
    await expect(driver.pause('a', at(0))).rejects.toThrow(NoLimitError)
    expect([await driver.audit(), await driver.list({}, at(0))]).toMatchObject([
      { admitted: 0 },
      { total: 0 },
    ])
  })
})

describe.each(DRIVERS)('%s: forecast', (_, open) => {
  test('returns what admit would return, whatever waits, and changes nothing', async () => {
    const driver = await openFor(open, '4, 1/s')
    let asked = 0
    const same = async (cost: number, seconds: number) => {
      const before = [await driver.audit(), await driver.list({}, at(seconds))]
      const forecast = await driver.forecast('a', cost, at(seconds))
      expect([await driver.audit(), await driver.list({}, at(seconds))]).toEqual(before)
      const admission = await driver.admit(request(`j${++asked}`, { cost }), at(seconds))
      expect(forecast).toEqual(admission.accepted ? { ...admission, id: '' } : admission)
      return admission.accepted
    }
    expect([await same(9, 0), await same(1, 0), await same(2, 0), await same(2, 0)]).toEqual([
      false,
      true,
      true,
      false,
    ])
    const started = await driver.startNext(at(0))
    await driver.finish(started!.id, failAndRetry(at(1)), at(0.25))
    expect(await same(1, 0.5)).toBe(true)
    await driver.freeze('a', at(9), at(0.5))
    expect(await same(1, 0.6)).toBe(false)
  })
})

describe.each(DRIVERS)('%s: ids', (_, open) => {
  test.each<[string, Partial<JobRequest>]>([
    ['key', { key: 'a/b' }],
    ['data', { data: '2' }],
    ['cost', { cost: 2 }],
  ])('the same id with another %s is a conflict, waiting, running or ended', async (_, other) => {
    const driver = await openFor(open, '9, 1/s')
    const conflicts = () => expect(driver.admit(request('x', other), at(0))).rejects.toThrow(IdConflictError)
    await driver.lineUp('x', at(0))
    await conflicts()
    await driver.startNext(at(0))
    await conflicts()
    await driver.finish('x', COMPLETED, at(0))
    await conflicts()
    expect(await driver.audit()).toMatchObject({ admitted: 1, ended: 1 })
  })

  test('a known id gets its first answer again, in every state, also when the line is full', async () => {
    const driver = await openFor(open, '2, 1/s')
    await driver.lineUp('p', at(0))
    const first = await driver.admit(request('x', { deadline: at(1.5) }), at(0))
    const again = async (seconds: number, waiting: number) =>
      expect(await driver.admit(request('x', { deadline: at(0) }), at(seconds))).toEqual({
        ...first,
        waiting,
        replayed: true,
      })
    await again(0, 2)
    expect(await driver.runUntil(at(0))).toEqual([['p', 0]])
    await again(0.5, 1)
    await driver.startNext(at(1))
    await again(1, 0)
    await driver.finish('x', failAndRetry(at(3)), at(1))
    await again(2, 1)
    await driver.cancel('x', at(2))
    await again(9, 0)
    expect(await driver.audit()).toMatchObject({ admitted: 2, ended: 2 })
  })

  test('a request that comes again learns how full the line is now, by the rule in force, and changes nothing', async () => {
    const driver = await openFor(open, { a: '2, 1/s' })
    const first = await driver.admit(request('x', { cost: 2 }), at(0))
    const again = async (seconds: number, waiting: number, capacity: number) => {
      const before = [await driver.audit(), await driver.list({}, at(seconds)), await driver.stored()]
      const answer = await driver.admit(request('x', { cost: 2 }), at(seconds))
      expect(answer).toEqual({ ...first, waiting, capacity, replayed: true })
      expect([await driver.audit(), await driver.list({}, at(seconds)), await driver.stored()]).toEqual(
        before,
      )
    }
    await driver.setRule('a', '7, 1/s', at(0))
    await again(0, 2, 7)
    await driver.unsetRule('a', at(0))
    // The bucket keeps its limit for the jobs that wait in it.
    await again(0, 2, 7)
    await driver.runUntil(at(0))
    await driver.forget(at(60))
    await again(60, 0, 0)
    await driver.setRule('*', '5, 1/s', at(60))
    await again(60, 0, 5)
  })

  test('the id of a rejected job is free', async () => {
    const driver = await openFor(open, '1, 1/s')
    await driver.lineUp('x', at(0))
    expect(await driver.admit(request('y'), at(0))).toMatchObject({ accepted: false })
    await driver.runUntil(at(0))
    expect(await driver.admit(request('y', { data: '2' }), at(1))).toEqual(accepted('y', 1, 1, [1, 1], 1))
  })

  test('an id is free again when its job was forgotten', async () => {
    const driver = await openFor(open, '9, 1/s', 1)
    await driver.lineUp('xy', at(0))
    await driver.runUntil(at(1))
    await driver.lineUp('z', at(60))
    await driver.runUntil(at(60))
    expect([await driver.job('x', at(60)), await driver.job('y', at(60))]).toEqual([undefined, undefined])
    expect(await driver.job('z', at(60))).toMatchObject({ state: 'completed' })
    const other = request('x', { data: '2' })
    expect(await driver.admit(other, at(61))).toEqual(accepted('x', 1, 61, [1, 9], 61))
    await expect(driver.admit(request('z', { data: '2' }), at(61))).rejects.toThrow(IdConflictError)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { explain } from '../../src/line/explanation.ts'
import type { AuditedDriver } from '../support/audited-driver.ts'
import { at, COMPLETED, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

/** As an engine that counts free handlers would return it. */
async function explained(driver: AuditedDriver, id: string, seconds: number) {
  const facts = (await driver.facts(id, at(seconds)))!
  const { wait } = facts
  return explain({ ...facts, wait: wait && { ...wait, stall: undefined } }, undefined)
}

/** When a start stops to count in a rolling window of so many seconds; in milliseconds. */
function entryEnd(start: number, length: number): number {
  const part = (length / 60) * 1_000
  return (Math.floor(msAt(start) / part) + 1) * part + length * 1_000
}

const clock = (seconds: number) => `${new Date(msAt(seconds)).toISOString().slice(11, 19)} UTC`

describe.each(DRIVERS)('%s: under a limit of several parts', (_, open) => {
  test('a job waits for the quota that has no room, and those behind it wait for it too', async () => {
    const driver = await openFor(open, '9, 10/s, 3/minute, tolerance 0')
    await driver.lineUp('abcdef', at(0))
    for (const seconds of [0, 0.1, 0.2]) await driver.startNext(at(seconds))
    const room = (await driver.inspect('a', at(0.2)))!.nextDepartureAt! / 1_000 - msAt(0) / 1_000
    expect(room).toBeGreaterThan(60)
    expect(room).toBeLessThanOrEqual(61)
    const detail = `waits for the quota of 3/minute: needs 1, 0 left, 3 come free at ${clock(room)}`
    const d = await explained(driver, 'd', 1)
    expect(d).toMatchObject({
      position: 1,
      departsAt: msAt(room),
      holds: [{ reason: 'quota', until: msAt(room), detail }, { reason: 'no-rule' }],
    })
    expect(d.summary).toContain(`First in line of a: departs in 60 s at 10/s; ${detail}`)
    expect(d.summaryWithoutTimes).toContain(
      'First in line of a: departs at 10/s; waits for the quota of 3/minute: needs 1, 0 left; no rule',
    )
    expect(d).not.toHaveProperty('isEstimate')
    expect(await explained(driver, 'f', 1)).toMatchObject({
      departsAt: msAt(room + 0.2),
      holds: [
        { reason: 'line', until: msAt(room + 0.2) },
        { reason: 'quota', until: msAt(room), detail: `a job before it ${detail}` },
        { reason: 'no-rule' },
      ],
    })
  })

  test('a job that needs more than is left says so, and a job behind it says which of them waits', async () => {
    const driver = await openFor(open, '9, 10/s, 9/minute, 1000 tokens/minute 300 each, tolerance 0')
    for (const [id, tokens] of [
      ['a', 900],
      ['b', 800],
      ['c', 100],
      ['d', 900],
    ] as const) {
      await driver.admit(request(id, { costs: { tokens } }), at(0))
    }
    await driver.startNext(at(0))
    const quotaOf = async (id: string) =>
      (await explained(driver, id, 1)).holds.find(({ reason }) => reason === 'quota')?.detail
    const waits = 'waits for the quota of 1000 tokens/minute: needs 800 tokens, 100 left, 900 come free at '
    expect(await quotaOf('b')).toBe(`${waits}${clock(61)}`)
    // It fits beside the one before it, which waits.
    expect(await quotaOf('c')).toBe(`a job before it ${waits}${clock(61)}`)
    expect(await quotaOf('d')).toMatch(
      /^waits for the quota of 1000 tokens\/minute: needs 900 tokens, 100 left, 900 come free at /,
    )
  })

  test('a job that waits for a period of a calendar says how much is left in it', async () => {
    const driver = await openFor(open, '99, 10/s, 10 per day in UTC, tolerance 0')
    await driver.admit(request('a', { cost: 7 }), at(0))
    await driver.admit(request('b', { cost: 4 }), at(0))
    await driver.startNext(at(0))
    const [hold] = (await explained(driver, 'b', 1)).holds
    expect(hold!.detail).toMatch(
      /^waits for the quota of 10 per day in UTC: needs 4, 3 left, 7 come free at .*00:00:0\d UTC$/,
    )
  })

  test('a bucket says what holds the first job of its line, in the words of its explanation', async () => {
    const driver = await openFor(
      open,
      '9, 10/s, 3/minute, 1000 tokens/minute 100 each, 2 at once, tolerance 0',
    )
    const heldBy = async (seconds: number) => (await driver.inspect('a', at(seconds)))?.heldBy
    const explains = async (id: string, seconds: number) =>
      (await explained(driver, id, seconds)).holds.find(({ reason }) => reason !== 'line')
    await driver.admit(request('a', { costs: { tokens: 600 } }), at(0))
    expect(await heldBy(0)).toBeUndefined()
    await driver.lineUp('b', at(0), { costs: { tokens: 500 } })
    await driver.lineUp('cd', at(0))
    await driver.startNext(at(0))
    expect(await heldBy(0)).toEqual(await explains('b', 0))
    expect(await heldBy(0)).toMatchObject({
      reason: 'quota',
      detail: expect.stringContaining('needs 500 tokens, 400 left, 600 come free at'),
    })
    await driver.settle('a', { tokens: 500 }, at(0.05))
    expect(await heldBy(0.05)).toEqual(await explains('b', 0.05))
    expect(await heldBy(0.05)).toMatchObject({ reason: 'slot', until: msAt(0.1) })
    await driver.freeze('a', at(5), at(0.05))
    expect(await heldBy(0.06)).toEqual({ reason: 'frozen', until: msAt(5), detail: 'the bucket is frozen' })
    await driver.pause('a', at(0.07))
    expect(await heldBy(0.08)).toEqual(await explains('b', 0.08))
    await driver.resume('a', at(0.09))
    await driver.startNext(at(5))
    expect(await heldBy(6)).toEqual(await explains('c', 6))
    expect(await heldBy(6)).toMatchObject({ reason: 'place', detail: 'waits for one of 2 places' })
    await driver.finish('a', failAndRetry(at(90)), at(6))
    await driver.finish('b', COMPLETED, at(6))
    for (const id of ['c', 'd']) await driver.cancel(id, at(6))
    expect(await heldBy(70)).toMatchObject({ reason: 'backoff', until: msAt(90) })
    expect(await heldBy(91)).toBeUndefined()
  })

  test('a forecast says what would hold the job, in the words of its explanation', async () => {
    const driver = await openFor(open, '9, 10/s, 3/minute, 2 at once, tolerance 0')
    const heldBy = async (seconds: number) => {
      const forecast = await driver.forecast('a', 1, at(seconds))
      return forecast.accepted && forecast.heldBy
    }
    expect(await heldBy(0)).toBeUndefined()
    await driver.lineUp('ab', at(0))
    expect(await heldBy(0)).toMatchObject({
      reason: 'line',
      until: msAt(0.2),
      detail: '2 jobs depart before it',
    })
    await driver.lineUp('c', at(0))
    const held = await heldBy(0)
    await driver.lineUp('d', at(0))
    expect(held).toEqual((await explained(driver, 'd', 0)).holds.find(({ reason }) => reason === 'quota'))
    await driver.freeze('a', at(900), at(0))
    await driver.cancel('d', at(0))
    await driver.cancel('c', at(0))
    expect(await heldBy(0)).toEqual({ reason: 'frozen', until: msAt(900), detail: 'the bucket is frozen' })
    await driver.unfreeze('a', at(0))
    for (const seconds of [0, 0.1]) await driver.startNext(at(seconds))
    expect(await heldBy(0.15)).toMatchObject({ reason: 'place' })
    await driver.finish('a', COMPLETED, at(0.15))
    expect(await heldBy(0.15)).toMatchObject({ reason: 'slot', until: msAt(0.2) })
    await driver.pause('a', at(0.15))
    expect(await heldBy(0.15)).toMatchObject({ reason: 'paused' })
  })

  test('a quota counts in its own unit', async () => {
    const driver = await openFor(open, '9, 10/s, 9/minute, 1000 tokens/minute 300 each, tolerance 0')
    await driver.admit(request('a', { costs: { tokens: 900 } }), at(0))
    await driver.lineUp('b', at(0))
    await driver.startNext(at(0))
    const [hold] = (await explained(driver, 'b', 0)).holds
    expect(hold!.detail).toMatch(
      /^waits for the quota of 1000 tokens\/minute: needs 300 tokens, 100 left, 900 come free at /,
    )
  })

  test('a job waits for one of the places, and its time is an estimate', async () => {
    const driver = await openFor(open, '9, 10/s, 2 at once, tolerance 0')
    await driver.lineUp('abcd', at(0))
    expect(await explained(driver, 'c', 0)).toMatchObject({ departsAt: msAt(0.2), isEstimate: true })
    for (const seconds of [0, 0.1]) await driver.startNext(at(seconds))
    const d = await explained(driver, 'd', 1)
    expect(d.holds.map(({ reason, detail }) => [reason, detail])).toEqual([
      ['place', 'waits for one of 2 places'],
      ['line', '1 job departs before it'],
      ['no-rule', expect.anything()],
    ])
    expect(d).toMatchObject({ departsAt: msAt(1.1), isEstimate: true })
    expect(d.summary).toContain(
      'could depart in 0.1 s or later at 10/s, behind 1 job, but waits for one of 2 places',
    )
    await driver.finish('a', COMPLETED, at(2))
    expect((await explained(driver, 'c', 2)).holds.map(({ reason }) => reason)).toEqual(['no-rule'])
  })

  test('behind more jobs than are followed the time is an estimate and not too late', async () => {
    const driver = await openFor(open, '999, 10/s, 100/minute')
    const requests = Array.from({ length: 402 }, (_, n) => request(`j${n}`))
    await driver.admitMany(requests, at(0))
    const near = await explained(driver, 'j200', 0)
    expect(near).not.toHaveProperty('isEstimate')
    expect(near.departsAt).toBeGreaterThan(msAt(120))
    const far = await explained(driver, 'j401', 0)
    expect(far).toMatchObject({ position: 402, isEstimate: true })
    expect(far.departsAt).toBeGreaterThan(msAt(60))
    expect(far.departsAt).toBeLessThan(msAt(245))
  })

  test('a retry makes times estimates', async () => {
    const driver = await openFor(open, '9, 10/s, 3/minute')
    await driver.lineUp('ab', at(0))
    await driver.startNext(at(0))
    await driver.finish('a', failAndRetry(at(5)), at(0))
    expect(await explained(driver, 'b', 0)).toMatchObject({ isEstimate: true })
    expect(await explained(driver, 'a', 0)).toMatchObject({ isEstimate: true, departsAt: msAt(5) })
  })

  test('a job that would pass by a retry that is not ready is not refused as late', async () => {
    // The quota holds the last of three, so that the line is followed.
    const driver = await openFor(open, '9, 10/s, 3/minute, tolerance 0')
    await driver.lineUp('ab', at(0))
    const started = await driver.startNext(at(0))
    await driver.finish(started!.id, failAndRetry(at(5)), at(0.02))
    // Behind b, which departs at 0.1.
    expect(await driver.admit(request('early', { deadline: at(0.19) }), at(0.05))).toMatchObject({
      accepted: false,
      reason: 'deadline',
    })
    expect(await driver.admit(request('c', { deadline: at(0.21) }), at(0.05))).toMatchObject({
      accepted: true,
      isEstimate: true,
    })
    expect(await driver.runUntil(at(1))).toEqual([
      ['b', 0.1],
      ['c', 0.2],
    ])
  })

  test('the next departure is that of a retry which is ready when the quota has room for the line', async () => {
    const driver = await openFor(open, '20, 10/s, 7/second, tolerance 0')
    await driver.lineUp('a', at(0))
    await driver.admit(request('b', { cost: 4 }), at(0))
    await driver.startNext(at(0))
    await driver.startNext(at(0.1))
    await driver.admit(request('c', { cost: 3 }), at(0.2))
    await driver.finish('b', failAndRetry(at(0.8)), at(0.2))
    const next = (await driver.inspect('a', at(0.3)))!.nextDepartureAt!
    expect(next).toBeGreaterThan(msAt(1.1))
    const [first] = await driver.runUntil(at(2))
    expect(first![0]).toBe('b')
    expect(at(first![1])).toBeCloseTo(next * 1_000, 0)
  })

  test('a retry that is ready, and has room, before the line has room goes first, and is the next departure', async () => {
    const driver = await openFor(open, '20, 10/s, 100 tokens/hour 10 each, tolerance 0')
    await driver.admit(request('a', { costs: { tokens: 20 } }), at(0))
    await driver.admit(request('b', { costs: { tokens: 90 } }), at(0))
    await driver.startNext(at(0))
    // It counts once more.
    await driver.finish('a', failAndRetry(at(5)), at(1))
    expect((await driver.inspect('a', at(2)))!.nextDepartureAt).toBe(msAt(5))
    expect(await driver.runUntil(at(60))).toEqual([['a', 5]])
    expect((await driver.inspect('a', at(60)))!.nextDepartureAt).toBeGreaterThan(msAt(3_600))
  })

  test('the view of a bucket shows what its quotas and places count', async () => {
    const driver = await openFor(
      open,
      '99, 10/s, 3/minute, 1000 tokens/hour 300 each, 2 at once, tolerance 0',
    )
    const partsAt = async (seconds: number) => {
      const view = (await driver.inspect('a', at(seconds)))!
      expect((await driver.list({}, at(seconds))).buckets).toEqual([view])
      return [view.quotas, view.places, view.nextDepartureAt]
    }
    await driver.admit(request('a', { cost: 2, costs: { tokens: 500 } }), at(0))
    await driver.lineUp('bcd', at(0))
    const minute = { quota: '3/minute', amount: 3 }
    const hour = { quota: '1000 tokens/hour', amount: 1000 }
    const none = [
      { ...minute, used: 0 },
      { ...hour, used: 0 },
    ]
    expect(await partsAt(0)).toEqual([none, { taken: 0, of: 2 }, msAt(0)])
    await driver.startNext(at(0))
    const one = [
      { ...minute, used: 2 },
      { ...hour, used: 500 },
    ]
    expect(await partsAt(0)).toEqual([one, { taken: 1, of: 2 }, msAt(0.2)])
    await driver.startNext(at(0.2))
    const [end, later] = [entryEnd(0.2, 60), entryEnd(0, 3_600)]
    const two = [
      { ...minute, used: 3, roomAt: end },
      { ...hour, used: 800, roomAt: later },
    ]
    expect(await partsAt(1)).toEqual([two, { taken: 2, of: 2 }, undefined])
    await driver.finish('a', COMPLETED, at(1))
    expect(await partsAt(1)).toEqual([two, { taken: 1, of: 2 }, later])
    await driver.setRule('*', '99, 10/s', at(2))
    expect(await partsAt(2)).toEqual([undefined, undefined, expect.any(Number)])
  })

  test('jobs depart when it was said', async () => {
    const limits = fc.constantFrom(
      '99, 10/s, 5 per 3 seconds',
      '99, 10/s, 4/second, 9 per 10 seconds, tolerance 0',
      '99, 5/s, 6/minute, 20 tokens per 5 seconds 4 each',
    )
    const job = fc.record({
      cost: fc.integer({ min: 1, max: 3 }),
      tokens: fc.option(fc.integer({ min: 1, max: 9 })),
    })
    await fc.assert(
      fc.asyncProperty(limits, fc.array(job, { minLength: 2, maxLength: 14 }), async (limit, jobs) => {
        const driver = await openFor(open, limit)
        for (const [n, { cost, tokens }] of jobs.entries()) {
          const costs = tokens === null ? {} : { costs: { tokens } }
          await driver.admit(request(`j${n}`, { cost, ...costs }), at(0))
        }
        const facts = await Promise.all(jobs.map((_, n) => driver.facts(`j${n}`, at(0))))
        const said = facts.map((fact) => [fact!.id, (fact!.wait!.departsAt - at(0)) / SECOND] as const)
        const happened = await driver.runUntil(at(10_000))
        expect(happened.map(([id]) => id)).toEqual(said.map(([id]) => id))
        for (const [index, [id, seconds]] of said.entries())
          expect(Math.abs(happened[index]![1] - seconds), id).toBeLessThan(0.000_02)
      }),
      { numRuns: 12 },
    )
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { explain } from '../../src/line/explanation.ts'
import type { AuditedDriver } from '../support/audited-driver.ts'
import { at, COMPLETED, failAndRetry, msAt, type OpenDriver, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const RULE = { pattern: '*', limit: '9, 1/s', origin: 'code' } as const

/** As an engine that counts free handlers would return it. */
async function explained(
  driver: AuditedDriver,
  id: string,
  seconds: number,
  rule: typeof RULE | null = RULE,
) {
  const facts = await driver.facts(id, at(seconds))
  if (facts?.wait === undefined) return explain(facts!, rule ?? undefined)
  return explain({ ...facts, wait: { ...facts.wait, stall: undefined } }, rule ?? undefined)
}

async function holdsOf(driver: AuditedDriver, id: string, seconds: number) {
  const { holds } = await explained(driver, id, seconds)
  return holds.map(({ reason, until }) => [reason, until])
}

describe.each(DRIVERS)('%s: what holds a job', (_, open) => {
  const started = async (limits: Parameters<typeof openFor>[1] = '9, 1/s') => {
    const driver = await openFor(open, limits)
    await driver.lineUp('abc', at(0))
    return driver
  }

  test('nothing, for the head of a bucket that may depart', async () => {
    const driver = await started()
    expect(await explained(driver, 'a', 0)).toEqual({
      id: 'a',
      key: 'a',
      state: 'waiting',
      position: 1,
      departsAt: msAt(0),
      holds: [],
      ahead: { jobs: 0, cost: 0, ids: [] },
      rule: RULE,
      summary: 'First in line of a: departs now.',
      summaryWithoutTimes: 'First in line of a: departs now.',
    })
  })

  test('the jobs before it', async () => {
    const driver = await started()
    await driver.lineUp('d', at(0), { cost: 3 })
    await driver.lineUp('e', at(0))
    expect(await explained(driver, 'e', 0.5)).toMatchObject({
      position: 5,
      departsAt: msAt(6.5),
      holds: [{ reason: 'line', until: msAt(6.5), detail: '4 jobs (6 cost units) depart before it' }],
      ahead: { jobs: 4, cost: 6, ids: ['a', 'b', 'c', 'd'] },
      summary: 'Fifth in line of a: departs in 6 s at 1/s, behind 4 jobs of 6 cost units.',
    })
  })

  test('the departure before it', async () => {
    const driver = await started()
    await driver.startNext(at(0))
    expect(await explained(driver, 'b', 0.25)).toMatchObject({
      position: 1,
      departsAt: msAt(1),
      holds: [{ reason: 'slot', until: msAt(1) }],
      summary: 'First in line of a: departs in 0.8 s at 1/s.',
    })
  })

  test('a freeze, which outlasts the spacing', async () => {
    const driver = await started()
    await driver.startNext(at(0))
    await driver.freeze('a', at(5), at(0))
    expect(await holdsOf(driver, 'b', 0.5)).toEqual([
      ['frozen', msAt(5)],
      ['slot', msAt(1)],
    ])
    expect((await explained(driver, 'c', 0.5)).summary).toBe(
      'Second in line of a, which is frozen for another 4.5 s: departs in 5.5 s at 1/s, behind 1 job.',
    )
    expect(await holdsOf(driver, 'b', 5)).toEqual([])
  })

  test('a pause, whose end is unknown', async () => {
    const driver = await started()
    await driver.pause('a', at(0))
    const explanation = await explained(driver, 'b', 0)
    expect(explanation.departsAt).toBeUndefined()
    expect(explanation.holds.map(({ reason, until }) => [reason, until])).toEqual([
      ['paused', undefined],
      ['line', undefined],
    ])
    expect(explanation.summary).toBe(
      'Second in line of a, which is paused: does not depart until it is resumed, behind 1 job.',
    )
  })

  test('its own backoff, during which other jobs depart first', async () => {
    const driver = await started()
    await driver.startNext(at(0))
    await driver.finish('a', failAndRetry(at(7)), at(0))
    expect(await explained(driver, 'a', 0.5)).toMatchObject({
      state: 'retrying',
      position: 3,
      departsAt: msAt(7),
      holds: [
        { reason: 'backoff', until: msAt(7) },
        { reason: 'line', until: msAt(7) },
      ],
      summary:
        'Third in line of a: departs in 6.5 s at 1/s, when it has backed off after attempt 1, behind 2 jobs.',
    })
  })

  test('all of it together', async () => {
    const driver = await started()
    await driver.startNext(at(0))
    await driver.finish('a', failAndRetry(at(7)), at(0))
    await driver.freeze('a', at(3), at(0))
    await driver.pause('a', at(0))
    await driver.unsetRule('*', at(0))
    const { holds, summary, rule } = await explained(driver, 'a', 1, null)
    expect([rule, holds.map(({ reason }) => reason)]).toEqual([
      undefined,
      ['paused', 'line', 'backoff', 'frozen', 'no-rule'],
    ])
    expect(summary).toBe(
      'Third in line of a, which is paused and frozen for another 2 s: does not depart until it is resumed, ' +
        'behind 2 jobs; no rule governs the key any more.',
    )
  })

  test('no rule any more, which holds nothing back', async () => {
    const driver = await started()
    await driver.unsetRule('*', at(0))
    expect(await explained(driver, 'a', 0, null)).toMatchObject({
      departsAt: msAt(0),
      holds: [{ reason: 'no-rule', detail: expect.stringContaining('9, 1/s') }],
    })
  })

  test('a job that runs or has ended is held by nothing', async () => {
    const driver = await started()
    await driver.lineUp('d', at(0), { deadline: at(4) })
    await driver.startNext(at(0))
    const none = { holds: [], ahead: { jobs: 0, cost: 0, ids: [] } }
    expect(await explained(driver, 'a', 2.5)).toEqual({
      ...none,
      id: 'a',
      key: 'a',
      state: 'running',
      rule: RULE,
      summary: 'Running for 2.5 s since it departed from a.',
      summaryWithoutTimes: 'Running for 2.5 s since it departed from a.',
    })
    await driver.finish('a', COMPLETED, at(3))
    await driver.startNext(at(3))
    await driver.finish('b', { kind: 'failed', error: 'the number is wrong' }, at(3))
    await driver.cancel('c', at(3))
    await driver.expire(at(5))
    const summaries = []
    for (const id of 'abcd') summaries.push((await explained(driver, id, 63)).summary)
    expect(summaries).toEqual([
      'Completed 60 s ago: it departed from a and ran for 3 s.',
      'Failed 60 s ago in a, after 1 attempt: "the number is wrong".',
      'Cancelled 60 s ago, while it waited in line of a.',
      'Expired 58 s ago: its deadline came while it waited in line of a.',
    ])
    expect(await driver.facts('unknown', at(0))).toBeUndefined()
  })

  test('a turn needs no handler, but behind a job it waits for one', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('~c~1', { isTurn: true }), at(0))
    await driver.lineUp('a', at(0))
    await driver.admit(request('~c~2', { isTurn: true }), at(0))
    const facts = await Promise.all(['~c~1', 'a', '~c~2'].map((id) => driver.facts(id, at(0))))
    expect(facts.map((fact) => fact!.wait!.needsHandler)).toEqual([false, true, true])
    expect(facts.map((fact) => fact!.wait!.head.isTurn)).toEqual([true, true, true])
  })

  test('names ten of the jobs before it, and counts all', async () => {
    const driver = await openFor(open, '99, 1/s')
    for (let n = 0; n < 15; n++) await driver.admit(request(`j${n}`), at(0))
    const { ahead } = await explained(driver, 'j14', 0)
    expect(ahead).toEqual({ jobs: 14, cost: 14, ids: Array.from({ length: 10 }, (_, n) => `j${n}`) })
  })
})

const waitingJob = fc.record({
  cost: fc.integer({ min: 1, max: 3 }),
  /** Fails once, and backs off for so long; absent: it waits for the first time. */
  backoff: fc.option(fc.integer({ min: 0, max: 6_000_000 }), { freq: 2, nil: undefined }),
})
type WaitingJob = typeof waitingJob extends fc.Arbitrary<infer Value> ? Value : never
const limit = fc.constantFrom('99, 2/s', '99, 10/s', '99, 7 per 3 seconds', '99, 2/s, warm-up 3s from 1/s')

/** Each start of the test is up to a microsecond late; seconds. */
const LATENESS = 0.000_02

async function predicted(open: OpenDriver, limits: string, jobs: readonly WaitingJob[], freeze: number) {
  const driver = await openFor(open, limits)
  const failing = jobs.filter(({ backoff }) => backoff !== undefined)
  for (const [n, { cost }] of failing.entries()) await driver.admit(request(`f${n}`, { cost }), at(0))
  let now = at(0)
  for (const _ of failing) {
    now = Math.max(now, await driver.nextDeparture())
    await driver.startNext(now)
  }
  for (const [n, { backoff }] of failing.entries())
    await driver.finish(`f${n}`, failAndRetry(now + backoff!), now)
  for (const [n, { cost, backoff }] of jobs.entries()) {
    if (backoff === undefined) await driver.admit(request(`j${n}`, { cost }), now)
  }
  if (freeze > 0) await driver.freeze('a', now + freeze, now)
  const { jobs: line } = (await driver.line('a', 200, now)) ?? { jobs: [] }
  const facts = await Promise.all(line.map(({ id }) => driver.facts(id, now)))
  const promised = facts.map((fact) => [fact!.id, (fact!.wait!.departsAt - at(0)) / SECOND] as const)
  const ready = failing.map(({ backoff }, n) => [`f${n}`, (now + backoff! - at(0)) / SECOND] as const)
  return { promised, ready, happened: await driver.runUntil(at(10_000)) }
}

test.each(DRIVERS)(
  '%s: they depart in that order and at those times, if nothing else changes',
  async (_, open) => {
    await fc.assert(
      fc.asyncProperty(
        limit,
        fc.array(waitingJob, { minLength: 1, maxLength: 12 }),
        fc.constantFrom(0, 0, 2_500_000),
        async (limits, jobs, freeze) => {
          const { promised, ready, happened } = await predicted(open, limits, jobs, freeze)
          // A job whose wait ends at the very slot of another may go before it or after it.
          fc.pre(
            ready.every(([id, end]) =>
              promised.every(([other, slot]) => other === id || Math.abs(end - slot) > LATENESS),
            ),
          )
          expect(happened.map(([id]) => id)).toEqual(promised.map(([id]) => id))
          for (const [index, [id, seconds]] of promised.entries()) {
            expect(Math.abs(happened[index]![1] - seconds), id).toBeLessThan(LATENESS)
          }
        },
      ),
      { numRuns: 60 },
    )
  },
)

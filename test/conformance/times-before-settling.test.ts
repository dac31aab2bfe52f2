import { describe, expect, test } from 'vitest'
import type { Admission } from '../../src/core/job.ts'
import { explain } from '../../src/line/explanation.ts'
import type { AuditedDriver } from '../support/audited-driver.ts'
import { at, COMPLETED, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const TOKENS = '9, 10/s, 1000 tokens per 10 seconds 300 each, tolerance 0'

/** One of the tokens runs, and fills the quota. */
async function filled(open: (typeof DRIVERS)[number][1], limit = TOKENS): Promise<AuditedDriver> {
  const driver = await openFor(open, limit)
  await driver.admit(request('full', { costs: { tokens: 1_000 } }), at(0))
  await driver.startNext(at(0))
  return driver
}

function told(answer: Admission): readonly [seconds: number, isEstimate: boolean] {
  const { accepted, isEstimate = false } = answer
  const ms = accepted ? answer.departsAt : msAt(0) + answer.retryAfterMs
  return [Math.round((ms - msAt(0)) / 100) / 10, isEstimate]
}

async function explained(driver: AuditedDriver, id: string, seconds: number) {
  const facts = (await driver.facts(id, at(seconds)))!
  return explain({ ...facts, wait: facts.wait && { ...facts.wait, stall: undefined } }, undefined)
}

describe.each(DRIVERS)('%s: what may be settled for less', (_, open) => {
  test('makes a time an estimate, which a settlement brings forward', async () => {
    const driver = await filled(open)
    expect(told(await driver.admit(request('next'), at(0.1)))).toEqual([10.2, true])
    expect(await explained(driver, 'next', 0.1)).toMatchObject({ isEstimate: true })
    expect((await explained(driver, 'next', 0.1)).summary).toContain('departs in 10 s or earlier at 10/s')
    expect(await driver.settle('full', { tokens: 10 }, at(1))).toBe(true)
    expect(await driver.runUntil(at(1))).toEqual([['next', 1]])
  })

  test('and which waits for a place, too, may depart earlier or later', async () => {
    const driver = await filled(open, '9, 10/s, 1000 tokens per 10 seconds 300 each, 5 at once, tolerance 0')
    await driver.admit(request('next'), at(0.1))
    expect((await explained(driver, 'next', 0.1)).summary).toContain('departs in about 10 s at 10/s')
  })

  test('refuses no deadline that would be met then, and every one that is certainly missed', async () => {
    const driver = await filled(open, '9, 1/s, 1000 tokens per 10 seconds 300 each, tolerance 0')
    const by = async (seconds: number) => {
      const { accepted, ...answer } = await driver.admit(
        request(`by${seconds}`, { deadline: at(seconds) }),
        at(0.1),
      )
      return accepted ? 'accepted' : answer
    }
    // By the pace, at 1; by what may be settled, at 10.2.
    expect(await by(0.9)).toMatchObject({ reason: 'deadline', isEstimate: true })
    expect(await by(1)).toBe('accepted')
    // Behind it.
    expect(await by(1.9)).toMatchObject({ reason: 'deadline' })
    expect(await driver.expire(at(1.1))).toEqual(['by1'])
  })

  test('lets nothing depart at once, so that what will not wait is refused', async () => {
    const driver = await filled(open)
    expect(await driver.admit(request('now', { deadline: at(0.1) }), at(0.1))).toMatchObject({
      accepted: false,
      reason: 'deadline',
      isEstimate: true,
    })
  })

  test('is nothing once it has ended: the time is exact, and a deadline is refused', async () => {
    const driver = await filled(open)
    await driver.finish('full', COMPLETED, at(0.1))
    const refused = await driver.admit(request('late', { deadline: at(9) }), at(0.1))
    expect(refused).toMatchObject({ accepted: false, reason: 'deadline' })
    expect(refused).not.toHaveProperty('isEstimate')
    expect(told(await driver.admit(request('next'), at(0.1)))).toEqual([10.2, false])
    expect(await explained(driver, 'next', 0.1)).not.toHaveProperty('isEstimate')
    expect(await driver.runUntil(at(11))).toEqual([['next', expect.closeTo(10.16, 2)]])
  })

  test('may stand ahead in the line', async () => {
    const driver = await openFor(open, TOKENS)
    await driver.admit(request('full', { costs: { tokens: 1_000 } }), at(0))
    expect(told(await driver.admit(request('next'), at(0)))).toEqual([10.2, true])
    // Once the one ahead has started and said that it took less, the next may depart.
    expect(await driver.admit(request('early', { deadline: at(0.1) }), at(0))).toMatchObject({
      reason: 'deadline',
    })
    expect(await driver.admit(request('later', { deadline: at(0.2) }), at(0))).toMatchObject({
      accepted: true,
      isEstimate: true,
    })
    await driver.startNext(at(0))
    await driver.settle('full', { tokens: 0 }, at(0))
    expect(await driver.runUntil(at(1))).toEqual([
      ['next', 0.1],
      ['later', 0.2],
    ])
  })

  test('does not matter where a quota of cost units holds the job for longer', async () => {
    const driver = await filled(open, '9, 10/s, 1000 tokens per 10 seconds 300 each, 1 per 30 seconds')
    const late = await driver.admit(request('late', { deadline: at(29) }), at(0.1))
    expect(late).toMatchObject({ accepted: false, reason: 'deadline' })
    expect(late).not.toHaveProperty('isEstimate')
    expect(told(await driver.admit(request('next'), at(0.1)))).toEqual([30.5, false])
  })

  test('of a full line makes the time to come back an estimate', async () => {
    const driver = await filled(open, '1, 10/s, 1000 tokens per 10 seconds 300 each, tolerance 0')
    await driver.lineUp('a', at(0.1))
    expect(told(await driver.admit(request('next'), at(0.1)))).toEqual([10.1, true])
    await driver.finish('full', COMPLETED, at(0.1))
    expect(told(await driver.admit(request('next'), at(0.1)))).toEqual([10.1, false])
    // Where its deadline decides as well, it may be refused then for that.
    const { isEstimate } = await driver.admit(
      request('both', { deadline: at(0.15), costs: { tokens: 900 } }),
      at(0.1),
    )
    expect(isEstimate).toBe(true)
  })

  test('does not matter behind a line that no quota holds', async () => {
    const driver = await openFor(open, '9, 10/s, 1000 tokens per 10 seconds 300 each')
    await driver.lineUp('a', at(0))
    await driver.startNext(at(0))
    expect(told(await driver.admit(request('b'), at(0)))).toEqual([0.1, false])
  })

  test('behind more jobs than are followed, only what is certainly late is refused', async () => {
    const driver = await filled(open, '999, 10/s, 1000 tokens per 10 seconds 300 each')
    const requests = Array.from({ length: 300 }, (_, n) => request(`j${n}`))
    await driver.admitMany(requests, at(0.1))
    // By the pace, the last of 301 departs after 30 s; three in ten seconds take 1,000 s.
    const by = async (seconds: number) =>
      (await driver.admit(request(`by${seconds}`, { deadline: at(seconds) }), at(0.1))).accepted
    expect(await by(29)).toBe(false)
    expect(await by(31)).toBe(true)
  })
})

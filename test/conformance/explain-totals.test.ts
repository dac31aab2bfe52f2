import { describe, expect, test } from 'vitest'
import { explain } from '../../src/line/explanation.ts'
import type { AuditedDriver } from '../support/audited-driver.ts'
import { at, COMPLETED, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

/** As an engine that counts free handlers would return it. */
async function explained(driver: AuditedDriver, id: string, seconds: number) {
  const facts = await driver.facts(id, at(seconds))
  const wait = facts?.wait && { ...facts.wait, stall: undefined }
  return explain({ ...facts!, wait }, { pattern: '*', limit: '99, 10/s', origin: 'code' })
}

async function fill(driver: AuditedDriver, keys: string, jobs: number) {
  for (const key of keys) {
    const requests = Array.from({ length: jobs }, (_, n) => request(`${key}${n}`, { key: `a/${key}` }))
    await driver.admitMany(requests, at(0))
  }
}

describe.each(DRIVERS)('%s: a job below totals', (_, open) => {
  test('waits for its turn among those that share the total', async () => {
    const driver = await openFor(open, { '*': '99, 10/s', 'a/': '99, 1/s' })
    await fill(driver, 'xyz', 2)
    expect(await explained(driver, 'x1', 0)).toMatchObject({
      position: 2,
      departsAt: msAt(3),
      isEstimate: true,
      totals: [{ total: 'a/', limit: '99, 1/s', others: 2, share: 1 / 3, turn: 4 }],
      holds: [
        {
          reason: 'total',
          total: 'a/',
          until: msAt(3),
          detail: '2 others of a/ share 1/s; about the 4th turn from now',
        },
        { reason: 'line', until: msAt(0.1) },
      ],
      summary:
        'Second in line of a/x: departs in about 3 s at 1/s of a/, behind 1 job; 2 others of a/ share 1/s; about the 4th turn from now.',
    })
  })

  test('waits no longer than it says, if nobody comes', async () => {
    const driver = await openFor(open, { '*': '99, 10/s', 'a/': '99, 1/s', 'a/x': '99, 10/s, weight 2' })
    await fill(driver, 'xyz', 4)
    const ids = [...'xyz'].flatMap((key) => [0, 1, 2, 3].map((n) => `${key}${n}`))
    const most = new Map<string, number>()
    for (const id of ids) most.set(id, (await explained(driver, id, 0)).waitMsAtMost!)
    // Four weights; three of its own, and three of the largest use in proportion to a weight.
    expect(most.get('y1')).toBeCloseTo(100 + 100 + 4 * (2 + 3) * 1_000, 6)
    for (let seconds = 0; seconds < ids.length; seconds++) {
      const { id } = (await driver.startNext(at(seconds)))!
      expect(seconds * 1_000).toBeLessThanOrEqual(most.get(id)!)
    }
  })

  test('has a share by its weight, at each level', async () => {
    const driver = await openFor(open, { '*': '99, 10/s', 'a/': '99, 1/s', 'a/x/': '99, 5/s, weight 4' })
    await driver.admit(request('one', { key: 'a/x/1' }), at(0))
    await driver.admit(request('two', { key: 'a/x/2' }), at(0))
    await driver.admit(request('other', { key: 'a/y' }), at(0))
    const { totals, holds } = await explained(driver, 'other', 0)
    expect(totals).toEqual([{ total: 'a/', limit: '99, 1/s', others: 1, share: 1 / 5, turn: 1 }])
    expect(holds).toEqual([])
    expect((await explained(driver, 'two', 0)).totals).toMatchObject([
      { total: 'a/x/', others: 1, share: 1 / 2 },
      { total: 'a/', others: 1, share: 4 / 5 },
    ])
    await driver.startNext(at(0))
    const { detail } = (await explained(driver, 'other', 0.5)).holds[0]!
    expect(detail).toMatch(/^1 other of a\/ shares 1\/s, of which it has \d+ %; it goes next$/)
  })

  test('has its share once the others have gone, whatever their weights were', async () => {
    const weights = { 'a/x': 1.55, 'a/y': 1.55, 'a/z': 0.1, 'a/u': 333.3, 'a/v': 0.7 }
    const limits = Object.entries(weights).map(([key, weight]) => [key, `99, 10/s, weight ${weight}`])
    const driver = await openFor(open, { ...Object.fromEntries(limits), 'a/': '999, 1/s' })
    for (const round of [0, 1, 2]) {
      const job = (key: string) => `${key}${round}`
      for (const key of 'uvxyz') await driver.admit(request(job(key), { key: `a/${key}` }), at(0))
      const [{ share } = { share: 0 }] = (await explained(driver, job('y'), 0)).totals ?? []
      expect(share).toBeCloseTo(1.55 / 337.2, 9)
      for (const key of 'zuv') await driver.cancel(job(key), at(0))
      expect((await explained(driver, job('y'), 0)).totals).toMatchObject([{ others: 1, share: 1 / 2 }])
      await driver.cancel(job('x'), at(0))
      expect((await explained(driver, job('y'), 0)).totals).toMatchObject([{ others: 0, share: 1 }])
      await driver.cancel(job('y'), at(0))
    }
  })

  test('alone has exact times, and no bound where a limit has more than a steady pace', async () => {
    const warming = '99, 10/s, warm-up 9 s'
    const driver = await openFor(open, {
      '*': '99, 10/s',
      'a/': '99, 1/s',
      'b/': '99, 1/s, 3/minute',
      'c/': warming,
      'd/': '99, 1/s',
      'd/warming': warming,
      'd/quota': '99, 10/s, 3/minute',
    })
    await driver.admit(request('x', { key: 'a/x' }), at(0))
    await driver.admit(request('y', { key: 'a/x' }), at(0))
    const alone = await explained(driver, 'y', 0)
    expect(alone).toMatchObject({ departsAt: msAt(1), totals: [{ others: 0, share: 1, turn: 2 }] })
    expect(alone).not.toHaveProperty('isEstimate')
    expect(alone.holds[0]).toMatchObject({
      reason: 'total',
      detail: 'a/ lets 1/s depart; about the 2nd turn from now',
    })
    expect(alone).toHaveProperty('waitMsAtMost')
    for (const key of ['b/x', 'c/x', 'd/warming', 'd/quota']) {
      await driver.admit(request(key, { key }), at(0))
      expect(await explained(driver, key, 0)).not.toHaveProperty('waitMsAtMost')
    }
  })

  test('is held by a pause, a freeze, the places and the quotas of a total', async () => {
    const driver = await openFor(open, { '*': '99, 10/s', 'a/': '99, 1/s, 2/minute, 1 at once' })
    await fill(driver, 'xyz', 1)
    await driver.pause('a/', at(0))
    const paused = await explained(driver, 'x0', 0)
    expect(paused).not.toHaveProperty('departsAt')
    expect(paused).toMatchObject({
      holds: [{ reason: 'paused', total: 'a/', detail: 'a/ is paused until it is resumed' }],
      summary: expect.stringContaining('but a/ is paused'),
    })
    await driver.resume('a/', at(0))
    const first = (await driver.startNext(at(0)))!
    const waiting = [...'xyz'].map((key) => `${key}0`).filter((id) => id !== first.id)
    const full = await explained(driver, waiting[0]!, 2)
    expect(full.holds[0]).toEqual({ reason: 'place', total: 'a/', detail: 'waits for one of 1 place of a/' })
    await driver.finish(first.id, COMPLETED, at(2))
    const second = (await driver.startNext(at(2)))!
    await driver.finish(second.id, COMPLETED, at(2))
    const last = waiting.find((id) => id !== second.id)!
    const byQuota = await explained(driver, last, 4)
    expect(byQuota.departsAt).toBeGreaterThanOrEqual(msAt(60))
    expect(byQuota.holds[0]).toMatchObject({
      reason: 'quota',
      total: 'a/',
      quota: '2/minute',
      until: byQuota.departsAt,
    })
    await driver.freeze('a/', at(90), at(4))
    expect((await explained(driver, last, 4)).holds).toContainEqual({
      reason: 'frozen',
      total: 'a/',
      until: msAt(90),
      detail: 'a/ is frozen',
    })
  })
})

describe.each(DRIVERS)('%s: a forecast below totals', (_, open) => {
  test('says which total binds', async () => {
    const driver = await openFor(open, { '*': '99, 10/s', 'a/': '99, 1/s' })
    expect(await driver.forecast('a/x', 1, at(0))).not.toHaveProperty('heldBy')
    await fill(driver, 'xy', 2)
    expect(await driver.forecast('a/z', 1, at(0))).toMatchObject({ departsAt: msAt(0), isEstimate: true })
    const forecast = await driver.forecast('a/x', 1, at(0))
    expect(forecast).toMatchObject({
      departsAt: msAt(4),
      isEstimate: true,
      heldBy: {
        reason: 'total',
        total: 'a/',
        until: msAt(4),
        detail: '1 other of a/ shares 1/s; about the 5th turn from now',
      },
    })
    await driver.pause('a/', at(0))
    expect(await driver.forecast('a/x', 1, at(0))).toMatchObject({
      heldBy: { reason: 'paused', total: 'a/' },
    })
  })
})

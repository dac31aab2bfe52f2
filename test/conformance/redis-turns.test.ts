import { describe, expect, test } from 'vitest'
import { MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, msAt } from '../support/backend-driver.ts'
import { isTurnId } from '../support/turn-id.ts'
import { BACK, COMPLETED } from './redis-stage.ts'
import { PLACE, RETRY, TurnStage } from './turn-stage.ts'

/** How long a turn that must come immediately may travel; seconds. */
const TRAVEL = 0.1

describe('admission', () => {
  test('of a turn is that of a job: position, time, refusals, and the bound of both together', async () => {
    const stage = await TurnStage.open('3, 1/s')
    await stage.admit('x', 0)
    const { admission } = await stage.jobs.admit('~c~1', 0, { cost: 2 })
    expect(admission).toEqual({
      accepted: true,
      id: '~c~1',
      key: 'a',
      position: 2,
      departsAt: msAt(1),
      waitMs: 1_000,
      waiting: 3,
      capacity: 3,
    })
    const refused = { accepted: false, reason: 'full', waiting: 3, capacity: 3 }
    for (const id of ['y', '~c~2']) expect((await stage.jobs.admit(id, 0)).admission).toMatchObject(refused)
    expect((await stage.jobs.admit('~c~3', 0, { cost: 4 })).admission).toMatchObject({ reason: 'too-costly' })
    await stage.adds()
  })

  test('gives the place a lease, a refusal none', async () => {
    const stage = await TurnStage.open('1, 1/s')
    await stage.admit('~c~1', 0)
    await stage.jobs.admit('~c~2', 0)
    const leaseOf = (id: string) => stage.jobs.redis.zscore(shardKey(stage.jobs.tag, 'leases'), id)
    expect([Number(await leaseOf('~c~1')), await leaseOf('~c~2')]).toEqual([at(PLACE), null])
  })

  test('asked for twice is done once, and the lease stays what it was', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 ~c~2', 0)
    const before = await stage.jobs.dump()
    const again = (await stage.jobs.admit('~c~2', 3)).admission
    expect(again).toMatchObject({ accepted: true, position: 2, departsAt: msAt(1), waiting: 2 })
    expect(await stage.jobs.dump()).toEqual(before)
  })

  test('is done once also when the turn has come meanwhile', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.run(0)
    const { admission } = await stage.jobs.admit('~c~1', 0.5)
    expect(admission).toMatchObject({ accepted: true, id: '~c~1' })
    await stage.adds()
    expect(await stage.views.audit()).toMatchObject({ admitted: 1, ended: 1 })
  })

  test('now or never: refused unless the departure is now; and then it has a while to travel', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0, { deadline: at(0) })
    const late = { accepted: false, reason: 'deadline', retryAfterMs: 1_000 }
    expect((await stage.jobs.admit('~c~2', 0, { deadline: at(0) })).admission).toMatchObject(late)
    expect(await stage.backend.verbs.expire(0, at(TRAVEL))).toEqual([])
    const { turns, of } = await stage.claim(TRAVEL)
    expect(turns).toEqual(['~c~1'])
    expect(await stage.gate(of('~c~1'), TRAVEL)).toMatchObject({ kind: 'granted' })
  })

  test('now or never: one that did not arrive within its while is expired', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0, { deadline: at(0) })
    const { of } = await stage.claim(0)
    expect(await stage.gate(of('~c~1'), TRAVEL + 0.006)).toMatchObject({ kind: 'expired' })
    await stage.admit('~c~2', 2, { deadline: at(2) })
    expect(await stage.backend.verbs.expire(0, at(2 + TRAVEL + 0.006))).toMatchObject([{ id: '~c~2' }])
    await stage.adds()
  })

  test('now or never is no longer for one that may wait a little', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0, { deadline: at(0.01) })
    expect(await stage.backend.verbs.expire(0, at(0.02))).toMatchObject([{ id: '~c~1', key: 'a' }])
  })

  test('of a paused bucket: with time left it waits, without it is refused', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.backend.verbs.pause('a', at(0))
    await stage.admit('~c~1', 0)
    expect(await stage.placeOf()).toBe('')
    expect((await stage.jobs.admit('~c~2', 0, { deadline: at(0) })).admission.accepted).toBe(false)
    await stage.backend.verbs.resume('a', at(1))
    await stage.adds()
    expect(await stage.placeOf()).toBe('turns')
    expect((await stage.claim(1)).turns).toEqual(['~c~1'])
  })
})

describe('a claim', () => {
  test('puts turns into the inboxes of their callers, and answers the jobs alone', async () => {
    const stage = await TurnStage.open('9, 1/s', ['c', 'p'])
    await stage.admit('~c~1', 0, { key: 'x' })
    await stage.admit('~p~1', 0, { key: 'y z 🪢' })
    await stage.admit('job', 0, { key: 'w' })
    const { jobs } = await stage.jobs.claim(0)
    const epoch = expect.any(Number)
    expect(jobs).toEqual([{ id: 'job', epoch, key: 'w' }])
    expect(await stage.backend.inboxes.next(0, 'p', MILLISECOND)).toEqual([
      { id: '~p~1', epoch, key: 'y z 🪢' },
    ])
    expect(await stage.backend.inboxes.next(0, 'c', MILLISECOND)).toEqual([{ id: '~c~1', epoch, key: 'x' }])
    expect(await stage.backend.inboxes.next(0, 'c', MILLISECOND)).toEqual([])
    await stage.adds()
  })

  test('hands over turns and jobs of one line in the order in which they came', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 x ~c~2 ~c~3 y', 0)
    const order: string[] = []
    for (let second = 0; second < 5; second++) {
      const { id, epoch } = await stage.run(second)
      order.push(id)
      if (!isTurnId(id)) await stage.finish({ id, epoch }, COMPLETED, second)
    }
    expect(order).toEqual(['~c~1', 'x', '~c~2', '~c~3', 'y'])
    expect(await stage.views.audit()).toMatchObject({ admitted: 5, ended: 5 })
  })

  test('takes as many of a bucket as its window holds, whichever they are, and the gate keeps their order', async () => {
    const stage = await TurnStage.open('99, 10/s')
    await stage.admit('x ~c~1 y ~c~2 ~c~3', 0)
    const { jobs, turns, of } = await stage.claim(0, { lookAheadMs: 250 })
    expect([jobs, turns]).toEqual([['x', 'y'], ['~c~1']])
    expect(await stage.gate(of('~c~1'), 0)).toMatchObject({ kind: 'wait' })
    expect(await stage.gate(of('x'), 0)).toMatchObject({ kind: 'granted', slot: at(0) })
    await stage.jobs.start(of('x'), 0)
    expect(await stage.gate(of('y'), 0)).toMatchObject({ kind: 'wait' })
    expect(await stage.gate(of('~c~1'), 0)).toMatchObject({ kind: 'granted', slot: at(0.1) })
    await stage.depart(of('~c~1'), 0.1)
    expect((await stage.claim(0.15, { lookAheadMs: 250 })).turns).toEqual(['~c~2', '~c~3'])
    expect(await stage.gate(of('y'), 0.1)).toMatchObject({ kind: 'granted', slot: at(0.2) })
  })

  test('with room for no more jobs hands over the turns of all other buckets', async () => {
    const stage = await TurnStage.open('9, 1/s')
    for (let n = 0; n < 5; n++) await stage.admit(`job${n}`, 0, { key: `jobs${n}` })
    for (let n = 0; n < 5; n++) await stage.admit(`~c~${n}`, 0.001, { key: `turns${n}` })
    const { jobs, turns } = await stage.claim(1, { most: 1 })
    expect([jobs.length, turns.length]).toEqual([1, 5])
    expect((await stage.claim(1, { most: 1 })).jobs).toHaveLength(1)
  })

  test('hands over 50 turns at a time, and returns immediately that there are more', async () => {
    const stage = await TurnStage.open('999, 1000/s')
    await Promise.all(Array.from({ length: 70 }, (_, n) => stage.jobs.admit(`~c~${n}`, 0, { key: `${n}` })))
    const wake = shardKey(stage.jobs.tag, 'wake')
    await stage.jobs.claim(0)
    expect(await stage.jobs.redis.llen(wake)).toBe(1)
    await stage.jobs.claim(0)
    expect(await stage.jobs.redis.llen(wake)).toBe(0)
    expect(await stage.views.audit()).toMatchObject({ waiting: 0, handed: 70 })
    await stage.adds()
  })

  test('turns behind jobs for which there is no room do not take the places of other turns', async () => {
    const stage = await TurnStage.open('9, 1/s')
    const keys = Array.from({ length: 51 }, (_, n) => `k${n}`)
    for (const key of keys) await stage.jobs.admit(`job-${key}`, 0, { key })
    for (const job of (await stage.jobs.claim(0)).jobs) {
      await stage.jobs.gate(job, 0)
      await stage.jobs.finish(job, { kind: 'retry', error: 'as planned', delay: SECOND }, 0, 0)
    }
    await Promise.all(keys.map((key) => stage.jobs.admit(`~c~${key}`, 0.5, { key })))
    await stage.admit('~c~free', 1.5, { key: 'free' })
    await stage.claim(2, { most: 1 })
    expect((await stage.claim(2, { most: 1 })).turns).toContain('~c~free')
  })

  test('a bucket that cannot be read is looked at again in a minute', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    const buckets = shardKey(stage.jobs.tag, 'buckets')
    const record = (await stage.jobs.redis.hgetBuffer(buckets, 'a'))!
    await stage.jobs.redis.hset(buckets, 'a', 'garbage')
    expect((await stage.jobs.claim(1)).nextClaim).toBeGreaterThan(at(60))
    await stage.jobs.redis.hset(buckets, 'a', record)
    expect((await stage.claim(59)).turns).toEqual([])
    expect((await stage.claim(62)).turns).toEqual(['~c~1'])
  })

  test('a new turn wakes the scheduler, also when jobs are due that no worker fetches', async () => {
    const stage = await TurnStage.open('9, 1/s')
    const wake = shardKey(stage.jobs.tag, 'wake')
    for (const key of ['k', 'l', 'm']) await stage.admit(`job-${key}`, 0, { key })
    await stage.claim(1, { most: 1 })
    await stage.admit('late', 2, { key: 'n' })
    expect(await stage.jobs.redis.llen(wake)).toBe(0)
    await stage.admit('~c~1', 2, { key: 'o' })
    expect(await stage.jobs.redis.llen(wake)).toBe(1)
  })

  test('one that is due later than something else wakes no scheduler', async () => {
    const stage = await TurnStage.open('9, 1/s')
    const wake = shardKey(stage.jobs.tag, 'wake')
    await stage.admit('x y', 0)
    await stage.run(0)
    expect(await stage.claim(0.1)).toMatchObject({ nextClaim: at(1) })
    await stage.backend.verbs.freeze('o', 5 * SECOND, at(0.1))
    await stage.admit('~c~1', 0.1, { key: 'o' })
    expect(await stage.jobs.redis.llen(wake)).toBe(0)
  })
})

describe('a bucket is listed where its next job or turn is waited for', () => {
  /** The head of the line is a job, and a turn comes behind it; or the other way round. */
  const lines = [
    ['x ~c~1 y', 'due', 'turns'],
    ['~c~1 x ~c~2', 'turns', 'due'],
  ] as const

  test.each(lines)('%s: after admission, claim and departure', async (ids, first, second) => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit(ids, 0)
    expect(await stage.placeOf()).toBe(first)
    const { id, epoch } = await stage.run(0)
    expect(await stage.placeOf()).toBe(second)
    if (!isTurnId(id)) await stage.finish({ id, epoch }, COMPLETED, 0.5)
    expect(await stage.placeOf()).toBe(second)
  })

  test.each(lines)(
    '%s: after the first of them was cancelled, and then the second',
    async (ids, ...places) => {
      const stage = await TurnStage.open('9, 1/s')
      await stage.admit(ids, 0)
      for (const [index, id] of ids.split(' ').entries()) {
        expect(await stage.placeOf()).toBe(places[index % 2])
        expect(await stage.backend.verbs.cancel(id, at(0.1))).toMatchObject({ id })
        await stage.adds()
      }
      expect(await stage.placeOf()).toBe('')
    },
  )

  test.each(lines)('%s: after the first has expired', async (ids, _, second) => {
    const stage = await TurnStage.open('9, 1/s')
    const [head, ...others] = ids.split(' ')
    await stage.admit(head!, 0, { deadline: at(1) })
    await stage.admit(others.join(' '), 0)
    await stage.backend.verbs.freeze('a', 5 * SECOND, at(0))
    expect(await stage.backend.verbs.expire(0, at(2))).toMatchObject([{ id: head }])
    await stage.adds()
    expect(await stage.placeOf()).toBe(second)
  })

  test.each(lines)('%s: after a freeze, a pause, and a new limit', async (ids, first) => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit(ids, 0)
    await stage.backend.verbs.freeze('a', SECOND, at(0))
    expect(await stage.placeOf()).toBe(first)
    await stage.backend.verbs.pause('a', at(0.5))
    expect(await stage.placeOf()).toBe('')
    await stage.adds()
    await stage.backend.verbs.resume('a', at(0.6))
    expect(await stage.placeOf()).toBe(first)
    await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '9, 2/s') }, at(0.7))
    await stage.adds()
    expect(await stage.placeOf()).toBe(first)
  })

  test.each(lines)(
    '%s: after the first was given back, and after its lease has ended',
    async (ids, first) => {
      const stage = await TurnStage.open('9, 1/s')
      await stage.admit(ids, 0)
      const [head] = ids.split(' ')
      const handed = (await stage.claim(0)).of(head!)
      await stage.gate(handed, 0)
      expect(await stage.placeOf()).toBe('')
      await stage.finish(handed, BACK, 0)
      expect(await stage.placeOf()).toBe(first)
      await stage.claim(1)
      await stage.jobs.renew({ id: ids.split(' ').at(-1)!, epoch: 0 }, 60, 1)
      await stage.jobs.renew({ id: '~c~1', epoch: 0 }, 60, 1)
      await stage.recover(31)
      expect(await stage.placeOf()).toBe(first)
    },
  )

  test.each(lines)('%s: after the first was sent back by a pause at the gate', async (ids, first) => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit(ids, 0)
    const { of } = await stage.claim(0)
    await stage.backend.verbs.pause('a', at(0))
    expect(await stage.gate(of(ids.split(' ')[0]!), 0)).toEqual({ kind: 'returned' })
    await stage.backend.verbs.resume('a', at(1))
    await stage.adds()
    expect(await stage.placeOf()).toBe(first)
  })

  test('a retry that becomes ready goes before the turn at the head, and then the turn is next', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('x', 0)
    const x = await stage.run(0)
    await stage.admit('~c~1 ~c~2', 0.1)
    await stage.finish(x, RETRY, 0.2)
    expect(await stage.placeOf()).toBe('turns')
    const again = await stage.claim(1, { most: 1 })
    expect([again.jobs, again.turns]).toEqual([['x'], []])
    await stage.gate(again.of('x'), 1)
    await stage.jobs.start(again.of('x'), 1)
    expect(await stage.placeOf()).toBe('turns')
    expect((await stage.claim(2)).turns).toEqual(['~c~1'])
  })

  test('one that was given back by a freeze goes before the turns', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('x', 0)
    const x = await stage.run(0)
    await stage.finish(x, { kind: 'freeze', duration: SECOND }, 0.2)
    await stage.admit('~c~1', 0.3)
    const again = await stage.claim(1.2)
    expect([again.jobs, again.turns]).toEqual([['x'], []])
  })
})

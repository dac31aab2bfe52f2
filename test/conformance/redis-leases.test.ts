import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import type { FinishOutcome } from '../../src/redis/verbs/finish.ts'
import { at, msAt } from '../support/backend-driver.ts'
import { BACK, COMPLETED, RedisStage } from './redis-stage.ts'

const OUTCOMES: readonly FinishOutcome[] = [
  COMPLETED,
  { kind: 'failed', error: 'no' },
  { kind: 'retry', error: 'no', delay: 0 },
  { kind: 'freeze', duration: SECOND },
  BACK,
]

const ENDINGS = OUTCOMES.filter(({ kind }) => kind === 'completed' || kind === 'failed')

const LATER: FinishOutcome = { kind: 'retry', error: 'no', delay: 0.5 * SECOND }

/** Claims and lets the lease end immediately. */
async function lose(stage: RedisStage, seconds: number) {
  const recovered = await stage.recover(seconds)
  await stage.balances()
  return recovered
}

describe('an epoch that is void', () => {
  test('is refused by every verb, and nothing changes', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [old] = await stage.hand(0)
    await lose(stage, 31)
    const [young] = await stage.hand(31)
    expect(young!.epoch).toBeGreaterThan(old!.epoch)
    await stage.gate(young!, 31)
    const before = await stage.dump()
    expect(await stage.gate(old!, 31)).toEqual({ kind: 'stale' })
    expect(await stage.start(old!, 31)).toBe(false)
    expect(await stage.renew(old!, 99, 31)).toBe(false)
    for (const outcome of OUTCOMES) {
      expect(await stage.finish(old!, outcome, 31)).toEqual({ isMine: false, at: at(31) })
      expect(await stage.finish(old!, outcome, 31, 31)).toMatchObject({ isMine: false })
    }
    expect(await stage.dump()).toEqual(before)
    expect(await stage.start(young!, 31)).toBe(true)
  })

  test.each(OUTCOMES.slice(1))('a job that has ended belongs to no worker ($kind)', async (outcome) => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const x = await stage.run(0)
    expect(await stage.finish(x, COMPLETED, 1)).toEqual({ isMine: true, at: at(1) })
    const before = await stage.dump()
    expect(await stage.finish(x, outcome, 2)).toMatchObject({ isMine: false })
    expect([await stage.start(x, 2), await stage.renew(x, 9, 2)]).toEqual([false, false])
    expect(await stage.dump()).toEqual(before)
  })

  test.each(OUTCOMES)('what is reported twice is done once ($kind)', async (outcome) => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0)
    if (outcome.kind !== 'back') await stage.start(x!, 0)
    expect(await stage.finish(x!, outcome, 1)).toMatchObject({ isMine: true })
    const before = await stage.dump()
    await stage.finish(x!, outcome, 2)
    expect(await stage.dump()).toEqual(before)
    await stage.balances()
  })

  test.each(ENDINGS)(
    'a job that has ended, reported again when its bucket was forgotten ($kind)',
    async (outcome) => {
      const stage = await RedisStage.open('9, 1/s')
      await stage.lineUp('x', 0)
      const x = await stage.run(0)
      expect(await stage.finish(x, outcome, 0.1)).toMatchObject({ isMine: true })
      await stage.claim(9)
      expect(await stage.redis.hlen(shardKey(stage.tag, 'buckets'))).toBe(0)
      const before = await stage.dump()
      expect(await stage.finish(x, outcome, 10)).toEqual({ isMine: true, at: at(0.1) })
      expect(await stage.finish(x, outcome, 10, 0)).toEqual({ isMine: true, at: at(0.1) })
      for (const other of OUTCOMES.filter(({ kind }) => kind !== outcome.kind)) {
        expect(await stage.finish(x, other, 10)).toEqual({ isMine: false, at: at(10) })
      }
      expect(await stage.finish({ id: 'x', epoch: 2 }, outcome, 10)).toEqual({ isMine: false, at: at(10) })
      expect(await stage.dump()).toEqual(before)
    },
  )

  test.each([...ENDINGS, LATER])(
    'a report that is answered again says when it came ($kind)',
    async (outcome) => {
      const stage = await RedisStage.open('9, 1/s')
      await stage.lineUp('x', 0)
      const x = await stage.run(0)
      const answer = await stage.finish(x, outcome, 1)
      expect(answer).toMatchObject({ isMine: true, at: at(1) })
      expect(await stage.finish(x, outcome, 2)).toEqual(answer)
    },
  )

  test('a worker that learned that its start is lost has nothing to finish', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    expect(await stage.start(x!, 0)).toBe(false)
    expect(await stage.finish(x!, COMPLETED, 0)).toMatchObject({ isMine: false })
    expect(await stage.state('x')).toBe('handed')
  })
})

describe('an epoch', () => {
  test('never comes twice: a zombie neither renews nor finishes a new job under the id of one that was forgotten', async () => {
    const stage = await RedisStage.open('9, 1/s', { keepFinished: 0 })
    await stage.lineUp('x', 0)
    const zombie = await stage.run(0)
    // Its worker stands still; another one ends the job, which is forgotten.
    await stage.recover(30)
    await stage.finish(await stage.run(30), COMPLETED, 31)
    await stage.claim(60)
    expect(await stage.state('x', 60)).toBeUndefined()
    await stage.lineUp('x', 60)
    const young = await stage.run(60)
    expect(await stage.renew(zombie, 600, 61)).toBe(false)
    expect(await stage.finish(zombie, COMPLETED, 61)).toMatchObject({ isMine: false })
    expect(await stage.state('x', 61)).toBe('running')
    expect(await stage.finish(young, COMPLETED, 62)).toMatchObject({ isMine: true })
    await stage.balances()
  })

  test('and a fence are larger than any that a failover lost', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    // The replica that takes over has nothing of what follows.
    const replica = await stage.dump()
    const lost = await stage.gate(x!, 0)
    expect(await stage.start(x!, 0)).toBe(true)
    await stage.finish(x!, COMPLETED, 0.5)
    const [y] = await stage.hand(1)
    const lostToo = await stage.gate(y!, 1)
    await stage.restore(replica)
    await stage.redis.hset(shardKey(stage.tag, 'meta'), 'run', 'the former master')
    await stage.recover(40)
    const [again] = await stage.hand(40)
    expect(again!.id).toBe('x')
    expect(again!.epoch).toBeGreaterThan(y!.epoch)
    const granted = await stage.gate(again!, 41.5)
    const fences = [lost, lostToo, granted].map((answer) =>
      answer.kind === 'granted' ? answer.job.fence : 0,
    )
    expect(fences).toEqual([...fences].sort((a, b) => a - b))
    expect(new Set(fences).size).toBe(3)
    expect(fences[0]).toBeGreaterThan(0)
  })

  test('and a fence are so also where the clock of the server that took over is behind', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const replica = await stage.dump()
    await stage.lineUp('x', 100)
    const [x] = await stage.hand(100)
    const lost = await stage.gate(x!, 100)
    expect(await stage.start(x!, 100)).toBe(true)
    await stage.restore(replica)
    await stage.redis.hset(shardKey(stage.tag, 'meta'), 'run', 'the former master')
    await stage.lineUp('y', 50)
    // A scheduler notices the loss.
    await stage.claim(50, { lookAhead: -60 * SECOND })
    const [y] = await stage.hand(52)
    expect(y).toMatchObject({ id: 'y' })
    expect(y!.epoch).toBeGreaterThan(x!.epoch)
    const granted = await stage.gate(y!, 52)
    const [before = 0, after = 0] = [lost, granted].map((answer) =>
      answer.kind === 'granted' ? answer.job.fence : undefined,
    )
    expect(before).toBeGreaterThan(0)
    expect(after).toBeGreaterThan(before)
  })
})

describe('a lease that has ended', () => {
  test('of one that was handed over: back to the head, no crash, no attempt', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    expect(await lose(stage, 30 - 1e-6)).toEqual([])
    expect(await lose(stage, 30)).toEqual([
      {
        ...x!,
        key: 'a',
        cost: 1,
        attempt: 0,
        at: at(30),
        crashed: false,
        failed: false,
        gone: false,
        lapsed: false,
      },
    ])
    expect(await stage.views.job('x', at(30))).toMatchObject({ state: 'waiting', attempt: 0, position: 1 })
    expect((await stage.hand(30)).map(({ id }) => id)).toEqual(['x'])
    for (let crash = 0; crash < 5; crash++) {
      expect(await lose(stage, 70 + crash * 40)).toMatchObject([{ crashed: false }])
      await stage.hand(70 + crash * 40)
    }
  })

  test('of several: all come back, in their order', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('wxyz', 0)
    await stage.hand(0, 250)
    await lose(stage, 30)
    expect(await stage.views.audit()).toMatchObject({ waiting: 4, handed: 0 })
    expect((await stage.hand(30, 350)).map(({ id }) => id)).toEqual(['w', 'x', 'y', 'z'])
  })

  test('of one in the middle: it and the jobs behind it come back, the one before stays', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('xyz', 0)
    const [x, y, z] = await stage.hand(0, 250)
    await stage.renew(x!, 60, 1)
    await stage.renew(z!, 60, 1)
    expect((await lose(stage, 30)).map(({ id }) => id)).toContain('y')
    expect(await stage.gate(x!, 31)).toMatchObject({ kind: 'granted' })
    await stage.start(x!, 31)
    expect(await stage.gate(y!, 31)).toEqual({ kind: 'stale' })
    expect((await stage.hand(31.1)).map(({ id }) => id)).toEqual(['y'])
  })

  test('of one that had a slot: a crash, for its handler may have started; the slot is burned', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 29.5)
    await stage.renew(x!, 0.5, 29.5)
    expect(await lose(stage, 30)).toMatchObject([{ ...x!, crashed: true, failed: false, gone: false }])
    expect(await stage.views.job('x', at(30))).toMatchObject({ state: 'retrying', position: 1 })
    expect(await stage.hand(30.4)).toEqual([])
    expect((await stage.run(31)).id).toBe('x')
  })

  test('of one that ran: a crash, and it goes before all others', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    await stage.run(0)
    expect(await lose(stage, 30)).toMatchObject([{ id: 'x', crashed: true, failed: false, gone: false }])
    expect(await stage.inspect('a', 30)).toMatchObject({ running: 0, retrying: 1, jobs: 1, fill: 2 / 9 })
    expect((await stage.run(30)).id).toBe('x')
    expect((await stage.run(31)).id).toBe('y')
  })

  test('the third crash fails it', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    for (const [start, end, failed] of [
      [0, 30, false],
      [40, 70, false],
      [80, 110, true],
    ] as const) {
      await stage.run(start)
      expect(await lose(stage, end)).toMatchObject([{ id: 'x', crashed: true, failed }])
    }
    expect(await stage.views.job('x', at(110))).toMatchObject({ state: 'failed', endedAt: msAt(110) })
    expect((await stage.views.job('x', at(110)))!.error).toMatch(/crash/)
    expect(await stage.hand(200)).toEqual([])
    expect(await stage.views.audit()).toMatchObject({ ended: 1, running: 0, retrying: 0 })
  })

  test('crashes in between failures do not use up attempts', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    await stage.finish(await stage.run(0), { kind: 'retry', error: 'no', delay: 0 }, 1)
    await stage.run(2)
    await lose(stage, 40)
    expect(await stage.views.job('x', at(40))).toMatchObject({ state: 'retrying', attempt: 1 })
    const [again] = await stage.hand(41)
    expect(await stage.gate(again!, 41)).toMatchObject({ kind: 'granted', job: { attempt: 2 } })
  })

  test('the next start carries how many were cut off; one that never began is not counted', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const granted: unknown[] = []
    for (const [seconds, isStarted] of [
      [0, false],
      [40, true],
      [80, true],
      [120, true],
    ] as const) {
      const [x] = await stage.hand(seconds)
      if (!isStarted) {
        await lose(stage, seconds + 30)
        continue
      }
      const answer = await stage.gate(x!, seconds)
      granted.push(answer.kind === 'granted' && [answer.job.attempt, answer.job.crashes])
      await stage.start(x!, seconds)
      await lose(stage, seconds + 30)
    }
    expect(granted).toEqual([
      [1, 0],
      [1, 1],
      [1, 2],
    ])
  })

  test('of one with a deadline that has passed: it expires where it waits', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.admit('x', 0, { deadline: at(5) })
    await stage.run(0)
    await lose(stage, 30)
    expect(await stage.backend.verbs.expire(0, at(30))).toMatchObject([{ id: 'x', key: 'a' }])
    expect(await stage.state('x', 30)).toBe('expired')
    await stage.balances()
  })

  test('75 are recovered at a time', async () => {
    const stage = await RedisStage.open('9, 1/s')
    for (let index = 0; index < 450; index++) await stage.admit(`j${index}`, 0, { key: `${index}` })
    for (let call = 0; call < 5; call++) await stage.claim(0)
    const sizes: number[] = []
    for (let some = await lose(stage, 99); some.length > 0; some = await lose(stage, 99))
      sizes.push(some.length)
    expect(sizes).toEqual([75, 75, 75, 75, 75, 75])
  })
})

describe('renew', () => {
  test('moves the end of a lease, of one that was handed over, granted or runs', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    expect(await stage.renew(x!, 30, 20)).toBe(true)
    expect(await lose(stage, 45)).toEqual([])
    await stage.gate(x!, 45)
    expect(await stage.renew(x!, 30, 60)).toBe(true)
    expect(await lose(stage, 85)).toEqual([])
    await stage.start(x!, 85)
    expect(await stage.renew(x!, 30, 86)).toBe(true)
    expect(await lose(stage, 115)).toEqual([])
    expect(await lose(stage, 116)).toMatchObject([{ id: 'x', crashed: true }])
    expect(await stage.renew(x!, 30, 116)).toBe(false)
  })

  test('the gate takes a lease of its own', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 20, { lease: 5 * SECOND })
    expect(await lose(stage, 24.9)).toEqual([])
    expect(await lose(stage, 25)).toMatchObject([{ id: 'x' }])
  })

  test('a worker that waits at the gate is alive', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('xy', 0)
    const [x, y] = await stage.hand(0, 150)
    await stage.gate(x!, 29)
    expect(await stage.gate(y!, 29)).toMatchObject({ kind: 'wait' })
    expect(await lose(stage, 31)).toEqual([])
  })

  test('a job that waits again has none', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    await stage.finish(await stage.run(0), { kind: 'retry', error: 'no', delay: 90 * SECOND }, 1)
    expect(await lose(stage, 60)).toEqual([])
    expect(await stage.state('x', 60)).toBe('retrying')
  })
})

import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, msAt } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { restart } from './losses.ts'
import { BACK, COMPLETED, RedisStage } from './redis-stage.ts'

const nextAt = async (stage: RedisStage, seconds: number) =>
  (await stage.inspect('a', seconds))?.nextDepartureAt

/** When the head is claimed, as its scheduler would know. */
async function dueOf(stage: RedisStage): Promise<number> {
  const [, due] = await stage.redis.zrange(shardKey(stage.tag, 'due'), '0', '0', 'WITHSCORES')
  return due === undefined ? Number.NaN : (Number(due) - at(0)) / SECOND
}

const usages = (stage: RedisStage) => stage.redis.hkeys(shardKey(stage.tag, 'quotas'))
const balances = async (stage: RedisStage) => expect(await recount(stage.redis, stage.tag)).toEqual([])

describe('a quota', () => {
  test('holds the head back until enough has left its window', async () => {
    const stage = await RedisStage.open('9, 10/s, 2/minute, tolerance 0')
    await stage.lineUp('abc', 0)
    await stage.run(0)
    await stage.run(0.1)
    expect(await stage.hand(59)).toEqual([])
    // A sixtieth of the window is lost at most.
    expect(await dueOf(stage)).toBeLessThanOrEqual(61)
    expect(await dueOf(stage)).toBeGreaterThan(60)
    await stage.run(61)
    await balances(stage)
  })

  test('counts a start for a whole window by the clock of any worker', async () => {
    // By a tolerance of 5 ms two clocks may differ by half a millisecond.
    const stage = await RedisStage.open('9, 10/s, 1/minute, tolerance 5ms')
    await stage.lineUp('ab', 0)
    await stage.run(0)
    // Just before the end of a part of the window.
    const startedAt = 70 - 0.0001
    await stage.run(startedAt)
    await stage.admit('c', startedAt)
    expect(await stage.hand(startedAt + 1)).toEqual([])
    expect(await dueOf(stage)).toBeGreaterThan(startedAt + 60.0005)
  })

  test('counts nothing for a slot that is given back, and again for a retry', async () => {
    const stage = await RedisStage.open('9, 10/s, 2/minute, tolerance 0')
    await stage.lineUp('ab', 0)
    const [a] = await stage.hand(0)
    await stage.gate(a!, 0)
    await stage.finish(a!, BACK, 0.01)
    const again = await stage.run(0.2)
    await stage.finish(again, { kind: 'retry', error: 'as planned', delay: 0 }, 0.25)
    expect((await stage.run(0.4)).id).toBe('a')
    expect(await dueOf(stage)).toBeGreaterThan(60)
    await balances(stage)
  })

  test('that is changed goes on from what it counted', async () => {
    const stage = await RedisStage.open('9, 10/s, 3/minute, tolerance 0')
    await stage.lineUp('abcdef', 0)
    for (const seconds of [0, 0.1, 0.2]) await stage.run(seconds)
    await stage.backend.rules.change(
      { kind: 'set', rule: parseRule('*', '9, 10/s, 4/minute, tolerance 0') },
      at(1),
    )
    expect((await stage.run(1)).id).toBe('d')
    expect(await stage.hand(30)).toEqual([])
    await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '9, 10/s, tolerance 0') }, at(31))
    expect((await stage.run(31)).id).toBe('e')
    // It is remembered for a minute.
    expect(await usages(stage)).toEqual(['a'])
    expect((await stage.run(91)).id).toBe('f')
    expect(await usages(stage)).toEqual([])
    await balances(stage)
  })

  test('after a restart counts what the pace may have let start and the store may have lost', async () => {
    const stage = await RedisStage.open('99, 10/s, 28/minute, tolerance 0')
    await stage.lineUp('abcd', 0)
    await stage.run(0)
    await restart(stage)
    // One has started, and 26 may have.
    const [b] = await stage.hand(1)
    expect(await stage.gate(b!, 1)).toEqual({ kind: 'returned' })
    const [again] = await stage.hand(1.6)
    expect(await stage.gate(again!, 1.6)).toMatchObject({ kind: 'granted', slot: at(1.6) })
    await stage.start(again!, 1.6)
    expect(await stage.hand(30)).toEqual([])
    expect(await dueOf(stage)).toBeGreaterThan(60)
  })

  test('counts no longer than its window where the clock was set back', async () => {
    const stage = await RedisStage.open('9, 10/s, 1/minute, tolerance 0')
    await stage.lineUp('ab', 0)
    await stage.run(0)
    await stage.jump(-10_000)
    await stage.claim(-10_000)
    expect(await dueOf(stage)).toBeLessThan(-9_938)
    await stage.run(-9_938)
  })

  test('keeps its bucket until its window is over, and no longer', async () => {
    const stage = await RedisStage.open('9, 10/s, 5/minute')
    await stage.lineUp('a', 0)
    await stage.finish(await stage.run(0), COMPLETED, 0.1)
    await stage.claim(50)
    expect(await usages(stage)).toEqual(['a'])
    // For two seconds more, in which a step of the clock may be reported.
    await stage.claim(64)
    expect(await usages(stage)).toEqual([])
    expect(await stage.redis.hkeys(shardKey(stage.tag, 'buckets'))).toEqual([])
  })

  test('that one job exceeds refuses it, and says which', async () => {
    const stage = await RedisStage.open('9, 10/s, 90 tokens/minute 10 each, 3/second')
    expect((await stage.admit('a', 0, { costs: { tokens: 91 } })).admission).toMatchObject({
      accepted: false,
      reason: 'too-costly',
      retryAfterMs: Number.POSITIVE_INFINITY,
      quota: '90 tokens/minute',
    })
    expect((await stage.admit('b', 0, { cost: 4 })).admission).toMatchObject({ quota: '3/second' })
  })

  test('whose usage cannot be read is a foreign value, and one that is missing is a missing part', async () => {
    const stage = await RedisStage.open('9, 10/s, 2/minute')
    await stage.lineUp('ab', 0)
    await stage.run(0)
    await stage.redis.hset(shardKey(stage.tag, 'quotas'), 'a', 'not ours')
    await expect(stage.admit('c', 1)).rejects.toMatchObject({ code: 'foreign-value' })
    await stage.redis.del(shardKey(stage.tag, 'quotas'))
    await expect(stage.admit('c', 1)).rejects.toMatchObject({ code: 'backend-unavailable' })
  })
})

describe('settling', () => {
  const RULE = '9, 10/s, 100 tokens/minute 60 each, tolerance 0'
  const amounts = (tokens: number) => ({ amounts: { tokens } })

  async function running() {
    const stage = await RedisStage.open(RULE)
    await stage.lineUp('ab', 0)
    const [a] = await stage.hand(0)
    const granted = await stage.gate(a!, 0)
    if (granted.kind !== 'granted') throw new Error('not granted')
    await stage.start(a!, 0)
    const settle = (tokens: number, seconds: number) =>
      stage.backend.verbs.settle(
        { id: 'a', key: 'a', fence: granted.job.fence, ...amounts(tokens) },
        at(seconds),
      )
    return { stage, a: a!, settle, fence: granted.job.fence }
  }

  test('with less frees the rest at once', async () => {
    const { stage, settle } = await running()
    expect(await stage.hand(1)).toEqual([])
    expect(await settle(40, 1)).toBe(true)
    expect(await dueOf(stage)).toBeLessThan(1)
    await stage.run(1)
    await balances(stage)
  })

  test('with more makes later jobs wait longer', async () => {
    const stage = await RedisStage.open('9, 10/s, 200 tokens/minute 60 each, tolerance 0')
    await stage.lineUp('abc', 0)
    const a = await stage.run(0)
    const fence = await stage.redis.hget(`${stage.tag}:meta`, 'fence')
    expect(
      await stage.backend.verbs.settle(
        { id: a.id, key: 'a', fence: Number(fence), ...amounts(250) },
        at(0.05),
      ),
    ).toBe(true)
    expect(await stage.hand(59)).toEqual([])
    await stage.run(61)
  })

  test('takes back what counts at the time of the start by the slowest clock', async () => {
    const stage = await RedisStage.open('9, 10/s, 100 tokens/minute 60 each, tolerance 5ms')
    await stage.lineUp('ab', 0)
    // Half a millisecond later another part of the window begins.
    const startedAt = 10 - 0.0001
    const a = await stage.run(startedAt)
    const fence = Number(await stage.redis.hget(`${stage.tag}:meta`, 'fence'))
    const { settle } = stage.backend.verbs
    expect(await settle({ id: a.id, key: 'a', fence, ...amounts(40) }, at(11))).toBe(true)
    expect(await dueOf(stage)).toBeLessThan(11)
    await balances(stage)
  })

  test('takes back what counts at the time of the start by a clock that is ahead', async () => {
    const stage = await RedisStage.open(RULE)
    await stage.lineUp('ab', 9)
    const [a] = await stage.hand(9)
    const granted = await stage.gate(a!, 9)
    if (granted.kind !== 'granted') throw new Error('not granted')
    // Just before it another part of the window began, and the clock of Redis shows the one before.
    const startedAt = at(10 + 0.0001)
    expect(await stage.backend.verbs.start(0, [{ ...a!, startedAt }], at(10 - 0.0005))).toEqual(['started'])
    const settled = { id: 'a', key: 'a', fence: granted.job.fence, ...amounts(0) }
    expect(await stage.backend.verbs.settle(settled, at(10 - 0.0004))).toBe(true)
    expect((await stage.inspect('a', 10.1))?.quotas).toMatchObject([{ used: 0 }])
    await balances(stage)
  })

  test('counts once for each fence, and not after the end', async () => {
    const { stage, a, settle, fence } = await running()
    expect(await settle(50, 1)).toBe(true)
    expect(await settle(1, 1)).toBe(false)
    expect(await stage.hand(2)).toEqual([])
    await stage.finish(a, COMPLETED, 3)
    expect(await settle(1, 3)).toBe(false)
    const other = { id: 'a', key: 'a', fence: fence + 1, ...amounts(1) }
    expect(await stage.backend.verbs.settle(other, at(3))).toBe(false)
  })

  test('of a retry is another one', async () => {
    const { stage, a, settle } = await running()
    expect(await settle(10, 1)).toBe(true)
    await stage.finish(a, { kind: 'retry', error: 'as planned', delay: 0 }, 1)
    const [again] = await stage.hand(1.2)
    const granted = await stage.gate(again!, 1.2)
    if (granted.kind !== 'granted') throw new Error('not granted')
    await stage.start(again!, 1.2)
    const second = { id: granted.job.id, key: 'a', fence: granted.job.fence, ...amounts(20) }
    expect(await stage.backend.verbs.settle(second, at(1.3))).toBe(true)
    expect(await stage.backend.verbs.settle(second, at(1.3))).toBe(false)
  })

  test('brings the report of the start with it', async () => {
    const stage = await RedisStage.open(RULE)
    await stage.lineUp('a', 0)
    const [a] = await stage.hand(0)
    const granted = await stage.gate(a!, 0)
    if (granted.kind !== 'granted') throw new Error('not granted')
    const asked = { id: 'a', key: 'a', fence: granted.job.fence, startedAt: at(0.01), ...amounts(5) }
    expect(await stage.backend.verbs.settle(asked, at(0.02))).toBe(true)
    expect(await stage.state('a')).toBe('running')
    expect(await stage.start(a!, 0.03)).toBe(true)
    await balances(stage)
  })

  test('in a unit that no quota counts changes nothing', async () => {
    const { stage, settle, fence } = await running()
    const asked = { id: 'a', key: 'a', fence, amounts: { points: 1 } }
    await expect(stage.backend.verbs.settle(asked, at(1))).rejects.toMatchObject({
      code: 'unknown-unit',
      unit: 'points',
      units: ['tokens'],
    })
    expect(await settle(1, 1)).toBe(true)
  })
})

describe('a bound on what runs at once', () => {
  const RULE = '9, 10/s, 2 at once, tolerance 0'

  test('takes the bucket from those due until a place is free', async () => {
    const stage = await RedisStage.open(RULE)
    await stage.lineUp('abc', 0)
    const a = await stage.run(0)
    await stage.run(0.1)
    expect(await dueOf(stage)).toBeNaN()
    await stage.finish(a, COMPLETED, 5)
    expect(await dueOf(stage)).toBeLessThanOrEqual(5)
    await stage.run(5)
    await balances(stage)
  })

  test('gives the place of a lost worker away when its lease has ended', async () => {
    const stage = await RedisStage.open(RULE)
    await stage.lineUp('abc', 0)
    for (const seconds of [0, 0.1]) await stage.run(seconds)
    expect(await stage.hand(29)).toEqual([])
    expect(await stage.recover(31)).toHaveLength(2)
    expect(await stage.hand(31, 1_000)).toHaveLength(2)
    await balances(stage)
  })

  test('that is lowered sends back what was handed over already', async () => {
    const stage = await RedisStage.open('9, 30/s, tolerance 0')
    await stage.lineUp('abcd', 0)
    const [a, b, c] = await stage.hand(0, 100)
    await stage.gate(a!, 0)
    await stage.start(a!, 0)
    await stage.backend.rules.change(
      { kind: 'set', rule: parseRule('*', '9, 30/s, 1 at once, tolerance 0') },
      at(0.1),
    )
    expect(await stage.gate(b!, 0.2)).toEqual({ kind: 'returned' })
    expect(await stage.gate(c!, 0.2)).toEqual({ kind: 'stale' })
    await stage.finish(a!, COMPLETED, 0.3)
    expect((await stage.run(0.3)).id).toBe('b')
    await balances(stage)
  })
})

test('a limit without further parts has no key and no field for them', async () => {
  const stage = await RedisStage.open('9, 10/s')
  await stage.lineUp('ab', 0)
  await stage.finish(await stage.run(0), COMPLETED, 0.05)
  expect(await stage.redis.exists(shardKey(stage.tag, 'quotas'))).toBe(0)
  expect(await stage.redis.hexists(shardKey(stage.tag, 'meta'), 'quotas')).toBe(0)
  expect(await nextAt(stage, 0.05)).toBe(msAt(0.1))
})

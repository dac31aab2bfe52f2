import { describe, expect, it } from 'vitest'
import { DAY, MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

/** Two start within five seconds: counted in sub-windows of 84 ms, of which one is lost, and after a step another. */
const LIMIT = '9, 10/s, 2 per 5 seconds, tolerance 0'
const WINDOW = 5
const LOST = 0.25
/** A process knows a step to a millisecond. */
const ERROR = MILLISECOND
/** Up to this a step forward is reported as one, and beyond as a jump. */
const SMALL = 0.25

const steps = [
  ['0.2 s', 0.2],
  ['1.9 s', 1.9],
  ['a minute', 60],
  ['a day', DAY / SECOND],
] as const

/** A stage on which the quota is used up since 0 and 0.1 s. */
async function usedUp({ limit = LIMIT, prefix = uniquePrefix(), ids = 'abcd' } = {}) {
  const stage = await RedisStage.open(limit, { prefix })
  await stage.lineUp(ids, 0)
  const ran = [await stage.run(0), await stage.run(0.1)]
  return { stage, ran }
}

function report(stage: RedisStage, seconds: number, by: number): Promise<void> {
  const micros = by * SECOND + ERROR
  return by <= SMALL ? stage.step(seconds, micros) : stage.jump(seconds, micros)
}

/** A worker that has not noticed the step yet asks for a slot, learns of the step from the answer, and reports it. */
async function leap(stage: RedisStage, to: number, by: number) {
  stage.setClock(to)
  const [unaware] = await stage.hand(to, 250)
  const answer = unaware && (await stage.gate(unaware, to + 0.001))
  await report(stage, to + 0.01, by)
  if (answer?.kind !== 'granted') return undefined
  return stage.gate(unaware!, to + 0.02, { missed: answer.slot })
}

/** When the head starts if it is tried each tenth of a second. */
async function startOf(stage: RedisStage, from: number, until: number): Promise<number> {
  for (let tenth = Math.ceil(from * 10); tenth <= until * 10; tenth++) {
    const [job] = await stage.hand(tenth / 10, 100)
    const answer = job && (await stage.gate(job, tenth / 10))
    if (answer?.kind !== 'granted') continue
    const seconds = (answer.startAt - at(0)) / SECOND
    await stage.start(job!, seconds)
    return seconds
  }
  return Number.POSITIVE_INFINITY
}

describe('a rolling quota, where the clock is set forward', () => {
  it.each(steps)('by %s, lasts as long as its window, and hardly longer', async (_, by) => {
    const { stage } = await usedUp()
    await leap(stage, 1 + by, by)
    const started = await startOf(stage, 1.1 + by, 12 + by)
    expect(started).toBeGreaterThanOrEqual(WINDOW + by)
    expect(started).toBeLessThanOrEqual(WINDOW + by + LOST)
  })

  it.each(steps)('by %s, counts all the same in a bucket that was idle', async (_, by) => {
    const { stage, ran } = await usedUp({ ids: 'ab' })
    for (const job of ran) await stage.finish(job, COMPLETED, 0.5)
    stage.setClock(1 + by)
    await stage.claim(1 + by)
    await report(stage, 1.5 + by, by)
    await stage.lineUp('x', 1.6 + by)
    expect(await startOf(stage, 1.6 + by, 12 + by)).toBeGreaterThanOrEqual(WINDOW + by)
  })

  it('several times in a row, small and large, lasts as long as its window', async () => {
    const { stage } = await usedUp()
    await leap(stage, 1.2, 0.2)
    await leap(stage, 62, 60)
    await leap(stage, 63.2, 0.2)
    await leap(stage, 67, 3)
    const started = await startOf(stage, 67.1, 80)
    expect(started).toBeGreaterThanOrEqual(WINDOW + 63.4)
    expect(started).toBeLessThanOrEqual(WINDOW + 63.4 + 2 * LOST)
  })

  it.each(steps)('by %s, which several processes report, counts it once', async (_, by) => {
    const [prefix, limit] = [uniquePrefix(), '9, 10/s, 2 per 30 seconds, tolerance 0']
    const { stage } = await usedUp({ limit, prefix })
    const others = await Promise.all([1, 2, 3].map(() => RedisStage.open(limit, { prefix })))
    await leap(stage, 1 + by, by)
    for (const [index, other] of others.entries()) await report(other, 2 + by + index, by)
    const started = await startOf(stage, 29 + by, 40 + by)
    expect(started).toBeGreaterThanOrEqual(30 + by)
    expect(started).toBeLessThanOrEqual(32 + by)
  })

  it('by a day, is not held up again where a process that was stopped reports it a minute later', async () => {
    const [prefix, limit] = [uniquePrefix(), '9, 10/s, 2 per 3 minutes, tolerance 0']
    const { stage } = await usedUp({ limit, prefix })
    const other = await RedisStage.open(limit, { prefix })
    const by = DAY / SECOND
    await leap(stage, 1 + by, by)
    await stage.claim(60 + by)
    await report(other, 61 + by, by)
    stage.setClock(61 + by)
    const started = await startOf(stage, 179 + by, 200 + by)
    expect(started).toBeGreaterThanOrEqual(180 + by)
    expect(started).toBeLessThanOrEqual(190 + by)
  })

  it('counts nothing for a slot that the step made void', async () => {
    const stage = await RedisStage.open('9, 10/s, 1 per day, tolerance 0')
    await stage.lineUp('a', 0)
    const [a] = await stage.hand(0)
    const granted = await stage.gate(a!, 0)
    if (granted.kind !== 'granted') throw new Error('not granted')
    await stage.jump(60, 60 * SECOND + ERROR)
    expect(await stage.gate(a!, 60.1, { missed: granted.slot })).toMatchObject({ kind: 'granted' })
  })

  it('keeps what a running job settles as long as its start', async () => {
    const stage = await RedisStage.open('9, 10/s, 100 tokens per 5 seconds 40 each, tolerance 0')
    await stage.lineUp('abc', 0)
    const [a] = await stage.hand(0)
    const granted = await stage.gate(a!, 0)
    if (granted.kind !== 'granted') throw new Error('not granted')
    await stage.start(a!, 0)
    stage.setClock(61)
    await report(stage, 61, 60)
    const asked = { id: 'a', key: 'a', fence: granted.job.fence, amounts: { tokens: 90 } }
    expect(await stage.backend.verbs.settle(asked, at(61.5))).toBe(true)
    const started = await startOf(stage, 61.6, 80)
    expect(started).toBeGreaterThanOrEqual(65)
    expect(started).toBeLessThanOrEqual(65 + LOST)
  })

  it('while no call reached Redis for as long, lets no line wait longer', async () => {
    const { stage } = await usedUp()
    stage.isSilent = true
    expect(await startOf(stage, 100, 101)).toBeLessThanOrEqual(100.2)
  })

  it.each([60, 57])(
    'by a minute, right after three seconds back, counts whole where a process reports %d s',
    async (seen) => {
      const { stage } = await usedUp()
      // The shard learns of the first step, and no entry ends later than one of a start by the new clock.
      await stage.jump(0.5 - 3, -3 * SECOND)
      for (const tenth of [6, 7, 8]) await stage.claim(tenth / 10 - 3)
      stage.setClock(58)
      const [job] = await stage.hand(58)
      // Between two of its looks at the clock it was set twice.
      await report(stage, 58.01, seen)
      // It goes back to its line.
      await stage.gate(job!, 58.05)
      const started = await startOf(stage, 58.1, 75)
      expect(started).toBeGreaterThanOrEqual(WINDOW + 57)
      // What counted was held to a window from the step back on.
      expect(started).toBeLessThanOrEqual(WINDOW + 58 + 2 * LOST)
    },
  )

  it('and back by a day, holds the line up for one window at most', async () => {
    const { stage } = await usedUp()
    const by = DAY / SECOND
    await leap(stage, 1 + by, by)
    stage.setClock(2)
    await stage.jump(2, -DAY)
    await stage.claim(2.1)
    const started = await startOf(stage, 2.2, 20)
    expect(started).toBeGreaterThanOrEqual(WINDOW)
    expect(started).toBeLessThanOrEqual(2.2 + WINDOW + 2 * LOST)
  })

  it('and back by less, counts what starts after that no longer than its window', async () => {
    const { stage } = await usedUp({ ids: 'ab' })
    // Each fills the quota by itself.
    await stage.lineUp('xy', 0.2, { cost: 2 })
    const by = DAY / SECOND
    await leap(stage, 1 + by, by)
    await stage.claim(2 + by)
    stage.setClock(by - 8)
    await stage.jump(by - 8, -10 * SECOND)
    await stage.claim(by - 7.9)
    // What started before the clock was set back counts for one window more at most.
    const first = await startOf(stage, by - 7.8, by)
    expect(first).toBeLessThanOrEqual(by - 8 + WINDOW + 2 * LOST)
    expect(await startOf(stage, first, first + 12)).toBeLessThanOrEqual(first + WINDOW + LOST)
  })

  it('counts a start between the step and its report no longer than its window', async () => {
    const { stage } = await usedUp({ limit: '9, 10/s, 3 per 5 seconds, tolerance 0' })
    const by = DAY / SECOND
    stage.setClock(1 + by)
    await stage.run(1 + by)
    await report(stage, 1.5 + by, by)
    // A claim brings back what is too far ahead.
    await stage.claim(1.6 + by)
    const started = await startOf(stage, 1.7 + by, 20 + by)
    expect(started).toBeGreaterThanOrEqual(WINDOW + by)
    expect(started).toBeLessThanOrEqual(WINDOW + by + 2 + LOST)
  })
})

it('a rolling quota outlasts a failover to a server whose clock is ahead', async () => {
  const stage = await RedisStage.open('99, 10/s, 30 per 5 seconds, tolerance 0')
  await stage.lineUp('abcdefg', 0)
  for (const tenth of [0, 1, 2, 3]) await stage.run(tenth / 10)
  await stage.redis.hset(shardKey(stage.tag, 'meta'), 'run', 'the former master')
  await leap(stage, 31, 30)
  const started = await startOf(stage, 31.1, 60)
  // Four are known, and twenty-six may have started since.
  expect(started).toBeGreaterThanOrEqual(30 + WINDOW)
  expect(started).toBeLessThanOrEqual(31 + WINDOW + LOST)
})

it('a calendar quota follows the clock that Redis shows, not the time that passes', async () => {
  // It is 22:13:20, so the day is over in 6,400 s.
  const stage = await RedisStage.open('9, 10/s, 2 per day in UTC, tolerance 0')
  await stage.lineUp('abcd', 0)
  await stage.run(0)
  await stage.run(0.1)
  await leap(stage, 3_601, 3_600)
  expect(await stage.hand(3_602, 100)).toEqual([])
  stage.setClock(6_402)
  await report(stage, 6_402, 2_800)
  expect(await startOf(stage, 6_403, 6_405)).toBeLessThan(6_405)
})

import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

/** Every half second another bucket has a job that is due. */
async function busyStage(): Promise<RedisStage> {
  const stage = await RedisStage.open('9, 1/s')
  for (const [index, id] of [...'abcdefgh'].entries()) {
    await stage.lineUp(id, 0, { key: id })
    if (index > 0) await stage.backend.verbs.freeze(id, (index / 2) * SECOND, at(0))
  }
  return stage
}

/** The same, with a scheduler that is elected, and another process beside it. */
async function ledStage() {
  const stage = await busyStage()
  await stage.claim(0, { scheduler: 's1' })
  const beside = await RedisStage.open('9, 1/s', { prefix: stage.prefix })
  const vacancy = shardKey(stage.tag, 'vacancy')
  return { stage, beside, hasVacancy: async () => (await stage.redis.exists(vacancy)) === 1, vacancy }
}

async function elects(stage: RedisStage, seconds: number, scheduler: string): Promise<boolean> {
  return (await stage.claim(seconds, { scheduler })).isElected
}

/** Settled when the wait has been ended by its own process. */
function isEnded(waits: Promise<unknown>): Promise<void> {
  return expect(waits).rejects.toMatchObject({ code: 'backend-unavailable' })
}

describe('one scheduler is elected', () => {
  test('and no other claims before its time is over, which is under two seconds', async () => {
    const stage = await busyStage()
    expect(await stage.claim(0, { scheduler: 's1' })).toMatchObject({ isElected: true, jobs: [{ id: 'a' }] })
    const other = await stage.claim(0.5, { scheduler: 's2' })
    expect(other).toMatchObject({ isElected: false, jobs: [], now: at(0.5) })
    expect(other.leaderUntil).toBeGreaterThan(at(0.5))
    expect(other.leaderUntil).toBeLessThan(at(2))
  })

  test('it stays elected while it claims', async () => {
    const stage = await busyStage()
    for (let half = 0; half < 6; half++) {
      expect(await elects(stage, half / 2, 's1')).toBe(true)
      expect(await elects(stage, half / 2 + 0.1, 's2')).toBe(false)
    }
  })

  test('another takes over when it is silent, and goes on where it was', async () => {
    const { stage } = await ledStage()
    const { leaderUntil } = await stage.claim(0.1, { scheduler: 's2' })
    const then = (leaderUntil - at(0)) / SECOND
    expect(await elects(stage, then - 0.001, 's2')).toBe(false)
    expect(await stage.claim(then, { scheduler: 's2' })).toMatchObject({
      isElected: true,
      jobs: [{ id: 'b' }, { id: 'c' }, { id: 'd' }],
    })
    expect(await stage.claim(then, { scheduler: 's1' })).toMatchObject({ isElected: false, jobs: [] })
    await stage.balances()
  })

  test('another is elected immediately when it resigns, and one that waits for that is woken', async () => {
    const { stage, beside } = await ledStage()
    const vacant = beside.backend.wakes.next(0, 'vacancy', 60 * SECOND)
    await stage.backend.verbs.resign(0, 's1')
    await vacant
    expect(await elects(stage, 0.1, 's2')).toBe(true)
    expect(await elects(stage, 0.2, 's1')).toBe(false)
    await stage.balances()
  })

  test('it takes no marker with it that is meant for the next', async () => {
    const { stage } = await ledStage()
    const ended = isEnded(stage.backend.wakes.next(0, 'wake', 60 * SECOND))
    await stage.backend.wakes.end(0)
    await stage.backend.verbs.resign(0, 's1')
    await ended
    await stage.backend.wakes.next(0, 'wake', 60 * SECOND)
  })

  test('one that is not elected changes nothing when it resigns, but wakes the one that is', async () => {
    const { stage } = await ledStage()
    await stage.backend.verbs.resign(0, 's2')
    expect(await elects(stage, 0.1, 's2')).toBe(false)
    await stage.backend.wakes.next(0, 'wake', 60 * SECOND)
  })

  test('one that ends leaves the marker of a vacancy, which it may have taken with it, to the next', async () => {
    const { stage, beside, hasVacancy } = await ledStage()
    const vacant = beside.backend.wakes.next(0, 'vacancy', 60 * SECOND)
    await stage.backend.verbs.resign(0, 's1')
    await vacant
    expect(await hasVacancy()).toBe(false)
    await beside.backend.verbs.resign(0, 's2')
    expect(await hasVacancy()).toBe(true)
    expect(await elects(stage, 0.1, 's3')).toBe(true)
  })

  test('one that ends waits for no vacancy any more, so the marker goes to another', async () => {
    const { stage, beside, hasVacancy } = await ledStage()
    const ended = isEnded(beside.backend.wakes.next(0, 'vacancy', 60 * SECOND))
    await beside.backend.wakes.end(0)
    await beside.backend.verbs.resign(0, 's2')
    await ended
    await stage.backend.verbs.resign(0, 's1')
    expect(await hasVacancy()).toBe(true)
  })

  test('one that resigns leaves no marker behind for long', async () => {
    const { stage, hasVacancy, vacancy } = await ledStage()
    await stage.backend.verbs.resign(0, 's1')
    expect(await stage.redis.pttl(vacancy)).toBeGreaterThan(0)
    await stage.claim(0.1, { scheduler: 's2' })
    expect(await hasVacancy()).toBe(false)
  })

  test('with nothing to do for long, the first that looks is elected', async () => {
    const stage = await RedisStage.open('9, 1/s')
    for (const scheduler of ['s1', 's2', 's1']) {
      expect(await stage.claim(0, { scheduler })).toMatchObject({ isElected: true, jobs: [] })
    }
  })

  test('a clock that was set back does not keep the others out', async () => {
    const { stage } = await ledStage()
    expect(await elects(stage, -3_600, 's2')).toBe(true)
  })
})

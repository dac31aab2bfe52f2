import { beforeEach, describe, expect, test } from 'vitest'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const NOON = 1_700_000_000
const seconds = (iso: string) => Date.parse(iso) / 1_000 - NOON
const LIMIT = '40, 20/s, 2 per day in Europe/Berlin, tolerance 0'
const OLD = '2000a 1000000000 2000000000 3600'

let stage: RedisStage
const zones = () => shardKey(stage.tag, 'zones')
const meta = () => shardKey(stage.tag, 'meta')

async function startNext(then: number): Promise<string | undefined> {
  const [job] = await stage.hand(then)
  if (job === undefined) return undefined
  expect(await stage.gate(job, then)).toMatchObject({ kind: 'granted' })
  expect(await stage.start(job, then)).toBe(true)
  await stage.finish(job, COMPLETED, then)
  return job.id
}

describe('what is in Redis of a time zone', () => {
  // Processes write by the clock of Redis what holds on the day.
  const begin = seconds(`${new Date().toISOString().slice(0, 10)}T10:00Z`)
  const spoiled: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['is missing', () => stage.redis.del(zones())],
    ['is empty', () => stage.redis.hset(zones(), 'Europe/Berlin', '')],
    ['is not ours', () => stage.redis.hset(zones(), 'Europe/Berlin', Buffer.from([0, 255, 10, 7]))],
    ['has words among its numbers', () => stage.redis.hset(zones(), 'Europe/Berlin', `${OLD} x 7200`)],
    ['is too long', () => stage.redis.hset(zones(), 'Europe/Berlin', OLD + ' 1500000000 0'.repeat(4_000))],
    [
      'goes back in time',
      () => stage.redis.hset(zones(), 'Europe/Berlin', `${OLD} 1600000000 0 1500000000 0`),
    ],
    ['is behind by weeks', () => stage.redis.hset(zones(), 'Europe/Berlin', `2000a 1 ${NOON + 9} 3600`)],
    ['begins later', () => stage.redis.hset(zones(), 'Europe/Berlin', '2000a 1999999999 2999999999 3600')],
  ]

  beforeEach(async () => {
    stage = await RedisStage.open(LIMIT, { openedAt: at(begin) })
    stage.isSilent = true
    await stage.lineUp('ab', begin)
    await startNext(begin)
  })

  test.each(spoiled)('%s: an admission writes it and goes on', async (_, spoil) => {
    await spoil()
    expect((await stage.admit('c', begin + 1)).admission).toMatchObject({ accepted: true })
    expect(await stage.redis.hget(zones(), 'Europe/Berlin')).toMatch(/^\d+[a-z] \d+ \d+ \d+ /)
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })

  test.each(spoiled)('%s: no job departs until a process has written it', async (_, spoil) => {
    await spoil()
    expect(await startNext(begin + 1)).toBeUndefined()
    expect(await stage.redis.hget(meta(), 'zone')).toBe('Europe/Berlin')
    await stage.backend.follow()
    expect(await stage.redis.hexists(meta(), 'zone')).toBe(0)
    expect(await startNext(begin + 3)).toBe('b')
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })

  test('of another type stops with an error, and nothing is half done', async () => {
    await stage.redis.del(zones())
    await stage.redis.set(zones(), 'x')
    const error: unknown = await stage.admit('c', begin + 1).catch((thrown: unknown) => thrown)
    expect(isVelvetRopeError(error, 'foreign-value')).toBe(true)
    expect(await startNext(begin + 1)).toBeUndefined()
    await stage.redis.del(zones())
    expect(await recount(stage.redis, stage.tag).catch(() => 'no zone')).toBe('no zone')
    expect((await stage.admit('c', begin + 70)).admission).toMatchObject({ accepted: true, id: 'c' })
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })

  test('is written for each zone when a job needs it', async () => {
    await stage.backend.rules.change(
      { kind: 'set', rule: parseRule('new', '40, 20/s, 1 per week in Asia/Tokyo') },
      at(begin + 1),
    )
    await stage.admit('m0', begin + 1)
    await stage.admit('m1', begin + 1, { key: 'new' })
    expect(Object.keys(await stage.redis.hgetall(zones())).sort()).toEqual(['Asia/Tokyo', 'Europe/Berlin'])
  })

  test('that no process knows is refused with its reason', async () => {
    const record = await stage.redis.hgetBuffer(shardKey(stage.tag, 'buckets'), 'a')
    const renamed = Buffer.from(
      record!.toString('latin1').replaceAll('Europe/Berlin', 'Mars/Olympus1'),
      'latin1',
    )
    await stage.redis.hset(shardKey(stage.tag, 'buckets'), 'a', renamed)
    const error: unknown = await stage.backend.verbs
      .cancel('b', at(begin + 1))
      .catch((thrown: unknown) => thrown)
    expect(isVelvetRopeError(error, 'backend-unavailable')).toBe(true)
    expect(String(error)).toContain('it lacks a time zone of a limit')
  })

  test('of newer rules of time zones stays, and that of older ones goes', async () => {
    const now = at(begin)
    const [known] = Object.values(await stage.redis.hgetall(zones()))
    const newer = known!.replace(/^\w+/, '2999z')
    await stage.redis.hset(zones(), 'Europe/Berlin', newer)
    await stage.backend.store.writeZones(0, ['Europe/Berlin'], { now })
    expect(await stage.redis.hget(zones(), 'Europe/Berlin')).toBe(newer)
    await stage.redis.hset(zones(), 'Europe/Berlin', known!.replace(/^\w+/, '2000a'))
    await stage.backend.store.writeZones(0, ['Europe/Berlin'], { now })
    expect(await stage.redis.hget(zones(), 'Europe/Berlin')).toBe(known)
  })

  test('goes when no process has written it for forty days', async () => {
    await stage.backend.store.writeZones(0, ['Asia/Tokyo'], { now: at(begin) })
    await stage.backend.store.writeZones(0, ['Europe/Berlin'], { now: at(begin + 39 * 86_400) })
    expect(await stage.redis.hlen(zones())).toBe(2)
    await stage.backend.store.writeZones(0, ['Europe/Berlin'], { now: at(begin + 42 * 86_400) })
    expect(await stage.redis.hkeys(zones())).toEqual(['Europe/Berlin'])
  })

  test('follows a clock of Redis that was set by years', async () => {
    const times = { c: begin - 3 * 31_557_600, d: begin + 30 * 31_557_600 }
    for (const [id, then] of Object.entries(times)) {
      expect((await stage.admit(id, then)).admission).toMatchObject({ accepted: true })
    }
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })
})

test('a line without a calendar has no time zones, and no process asks for them', async () => {
  stage = await RedisStage.open('40, 20/s, 5/minute', { openedAt: at(0) })
  await stage.lineUp('a', 0)
  await stage.backend.follow()
  expect(await stage.redis.exists(zones())).toBe(0)
})

test('of a new period no slot is so near the second for which a start counts in both that a clock a little ahead is inside', async () => {
  const midnight = seconds('2023-11-16T23:00Z')
  stage = await RedisStage.open(LIMIT, { openedAt: at(midnight - 60) })
  await stage.lineUp('abc', midnight - 60)
  for (const then of [midnight - 60, midnight - 59]) await startNext(then)
  const [job] = await stage.hand(midnight + 0.9, 200)
  const granted = await stage.gate(job!, midnight + 0.95)
  // A worker knows the clock of Redis to half a millisecond.
  expect(granted).toMatchObject({ kind: 'granted' })
  expect((granted as { startAt: number }).startAt - at(midnight)).toBeGreaterThanOrEqual(1_000_500)
})

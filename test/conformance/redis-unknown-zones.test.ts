import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { scriptRuns } from '../../src/core/diagnostics.ts'
import { parseStoredLimit } from '../../src/core/limit.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { UnknownZoneError } from '../../src/core/rule-errors.ts'
import type { RuleChange } from '../../src/core/rule-layers.ts'
import { Shaper } from '../../src/index.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, request } from '../support/backend-driver.ts'
import { eventually } from '../support/patience.ts'
import { recount } from '../support/recount.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const ZONE = 'America/Newtown'
const LIMIT = `40, 20/s, 2 per day in ${ZONE}, tolerance 0`
/** What a process with newer time zones writes of it: nine hours ahead of UTC. */
const TABLE = '2999z 1690000000 1990000000 32400'
/** In seconds after the noon of the stage. */
const MIDNIGHT = Date.parse('2023-11-15T00:00+09:00') / 1_000 - 1_700_000_000 + 86_400

/** As a process sets it that knows the zone. */
function setNewer(pattern: string, limit = LIMIT): RuleChange {
  return { kind: 'set', rule: parseRule(pattern, limit, parseStoredLimit) }
}

function set(pattern: string, limit: string): RuleChange {
  return { kind: 'set', rule: parseRule(pattern, limit) }
}

let stage: RedisStage
let prefix: string
const zones = () => shardKey(stage.tag, 'zones')
const bookText = () => stage.redis.get(shardKey(stage.tag, 'book'))
const limitOf = async (key: string) => (await stage.inspect(key, 9))?.limit

beforeEach(async () => {
  prefix = uniquePrefix()
  stage = await RedisStage.open({ '*': '40, 20/s' }, { prefix, openedAt: at(0) })
  stage.isSilent = true
})

describe('a rule whose time zone this process does not know', () => {
  beforeEach(async () => {
    const newer = await RedisStage.open({}, { prefix })
    await newer.backend.rules.change(setNewer('y'), at(0))
  })

  test('refuses the keys that it governs, with its pattern and the zone', async () => {
    const refused = { code: 'unknown-zone', pattern: 'y', zone: ZONE }
    await expect(stage.admit('a', 1, { key: 'y' })).rejects.toMatchObject(refused)
    await expect(stage.admit('a', 1, { key: 'y/below' })).rejects.toBeInstanceOf(UnknownZoneError)
    await expect(stage.backend.verbs.forecast('y', 1, at(1))).rejects.toMatchObject(refused)
    const both = [request('b', { key: 'x' }), request('c', { key: 'y' })]
    await expect(stage.backend.verbs.admitMany(both, at(1))).rejects.toMatchObject(refused)
    expect(await stage.views.audit()).toMatchObject({ admitted: 0 })
  })

  test('leaves the keys of other rules alone, also in a process that begins', async () => {
    const later = await RedisStage.open({ '*': '40, 20/s' }, { prefix })
    for (const [id, one] of Object.entries({ a: stage, b: later })) {
      expect((await one.admit(id, 1, { key: 'other' })).admission).toMatchObject({ accepted: true })
    }
    await expect(later.admit('c', 1, { key: 'y' })).rejects.toBeInstanceOf(UnknownZoneError)
  })

  test('is shown as it is, and stays byte for byte when this process changes another', async () => {
    await stage.backend.rules.change(set('z', '9, 1/s'), at(1))
    expect(stage.backend.rules.book.get('y')).toMatchObject({ pattern: 'y', origin: 'override' })
    expect(JSON.parse((await bookText())!)).toMatchObject({
      version: 3,
      overrides: [
        { pattern: 'y', limit: LIMIT.replace(', tolerance 0', '').replace('20/s', '20/s, tolerance 0') },
        { pattern: 'z' },
      ],
    })
  })

  test.each<[string, RuleChange]>([
    ['set', set('y', '9, 1/s')],
    ['unset', { kind: 'unset', pattern: 'y' }],
    ['reset', { kind: 'reset', pattern: 'y' }],
  ])('is repaired from here: %s', async (_, repair) => {
    await expect(stage.admit('a', 1, { key: 'y' })).rejects.toBeInstanceOf(UnknownZoneError)
    expect(await stage.backend.rules.change(repair, at(1))).toMatchObject({ isChanged: true })
    expect((await stage.admit('a', 2, { key: 'y' })).admission).toMatchObject({ accepted: true })
    expect(await bookText()).not.toContain(ZONE)
  })

  test('is reported once for its zone, and again when it has been gone', async () => {
    const follow = async () => (await stage.backend.follow(at(1))).map(({ message }) => message)
    expect(await follow()).toEqual([
      expect.stringMatching(
        /^the limit of "y" counts by the time zone "America\/Newtown", which another process knows and this one does not \(it has the time zones of \w+\); until/,
      ),
    ])
    await stage.backend.rules.change(setNewer('more'), at(1))
    await stage.backend.rules.change(set('z', '9, 1/s'), at(1))
    expect([await follow(), await follow()]).toEqual([[], []])
    const later = await RedisStage.open({}, { prefix })
    expect(await later.backend.follow(at(1))).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('the limit of "y" and of 1 more pattern counts'),
      }),
    ])
    for (const pattern of ['y', 'more']) await stage.backend.rules.change(set(pattern, '9, 1/s'), at(2))
    expect(await follow()).toEqual([])
    await stage.backend.rules.change(setNewer('more'), at(3))
    expect(await follow()).toEqual([expect.stringContaining('the limit of "more" counts')])
  })

  test('cannot be set by this process', () => {
    expect(() => parseRule('y', LIMIT)).toThrow('limit "y": expected a time zone such as')
  })
})

describe('jobs that wait when their limit gets a time zone that this process does not know', () => {
  beforeEach(async () => {
    await stage.lineUp('abc', 0, { key: 'y' })
    await stage.lineUp('d', 0, { key: 'other' })
  })

  /** Starts all that are due. */
  async function startDue(then: number): Promise<string> {
    const jobs = await stage.hand(then)
    for (const job of jobs) {
      expect(await stage.gate(job, then)).toMatchObject({ kind: 'granted' })
      expect(await stage.start(job, then)).toBe(true)
      await stage.finish(job, COMPLETED, then)
    }
    return jobs.map(({ id }) => id).join('')
  }

  test('start by what another process has written of the zone, and not too early', async () => {
    await stage.redis.hset(zones(), ZONE, TABLE)
    await stage.backend.rules.change(setNewer('y'), at(0))
    expect(await limitOf('y')).toContain(ZONE)
    expect([await startDue(1), await startDue(2)]).toEqual(['ad', 'b'])
    expect([await startDue(4), await startDue(MIDNIGHT - 1)]).toEqual(['', ''])
    expect(await stage.redis.hget(zones(), ZONE)).toBe(TABLE)
    expect(await startDue(MIDNIGHT + 2)).toBe('c')
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })

  test('do not start while Redis has nothing of the zone, and those of other keys do', async () => {
    await stage.redis.hset(zones(), ZONE, TABLE)
    await stage.backend.rules.change(setNewer('y'), at(0))
    await stage.redis.del(zones())
    expect([await startDue(1), await startDue(3), await startDue(5)]).toEqual(['d', '', ''])
    await stage.redis.hset(zones(), ZONE, TABLE)
    expect([await startDue(7), await startDue(8), await startDue(9)]).toEqual(['a', 'b', ''])
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })

  test('keep their limit where Redis has nothing of the zone, until a process has applied it that knows the zone', async () => {
    await stage.backend.rules.change(
      { kind: 'load', origin: 'code', rules: [parseRule('*', '50, 20/s')] },
      at(0),
    )
    await stage.backend.rules.change(setNewer('y'), at(0))
    await stage.backend.rules.change(set('other', '60, 20/s'), at(0))
    expect([await limitOf('y'), await limitOf('other')]).toEqual(['50, 20/s', '60, 20/s'])
    const meta = () => stage.redis.hmget(shardKey(stage.tag, 'meta'), 'book', 'retimed')
    expect(await meta()).toEqual(['4', '2'])
    // It does not go through all buckets again and again.
    const verbs: string[] = []
    onTestFinished(scriptRuns.subscribe(({ verb }) => verbs.push(verb)))
    await stage.claim(1)
    await stage.claim(2)
    expect(verbs).toEqual(['claim', 'claim'])
    await stage.redis.hset(zones(), ZONE, TABLE)
    const newer = await RedisStage.open({}, { prefix })
    await newer.claim(3)
    await eventually(async () => expect(await meta()).toEqual(['4', '4']))
    expect(await limitOf('y')).toContain(ZONE)
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })
})

test('a shaper reports the zone with one event, and its limits repair the rule', async () => {
  const shaper = new Shaper('zones', { prefix, connection: redisAddress(), limits: { '*': '40, 20/s' } })
  onTestFinished(() => shaper.close({ drainMs: 0 }))
  const errors: Error[] = []
  shaper.on('error', (error) => errors.push(error))
  await shaper.ready()
  const newer = await RedisStage.open({}, { prefix, name: 'zones' })
  await newer.backend.rules.change(setNewer('y'))
  await eventually(() => expect(errors).toHaveLength(1))
  expect(errors[0]).toMatchObject({ code: 'unknown-zone', pattern: 'y', zone: ZONE })
  await expect(shaper.enqueue('y', 1)).rejects.toMatchObject({ code: 'unknown-zone' })
  await expect(shaper.acquire('y')).rejects.toMatchObject({ code: 'unknown-zone' })
  expect(await shaper.enqueue('other', 1)).toMatchObject({ accepted: true })
  expect(shaper.limits.get('y')?.limit).toContain(ZONE)
  expect(await shaper.limits.reset('y')).toBe(true)
  expect(await shaper.enqueue('y', 1)).toMatchObject({ accepted: true })
  expect(errors).toHaveLength(1)
})

import { describe, expect, test } from 'vitest'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

const TOTAL = '9, 1/s, 5/minute'
const DAILY = '9, 1/s, 5 per day in Asia/Tokyo'

/** Two keys of a family, of which one goes first, one of a family within it, and one of no family; all are due. */
async function dueFamilies(
  limits: Readonly<Record<string, string>> = { '*': '9, 1/s', 'a/': TOTAL, 'a/b/': TOTAL },
): Promise<RedisStage> {
  const stage = await RedisStage.open(limits)
  await stage.lineUp('p', 0, { key: 'a/bad' })
  await stage.lineUp('q', 0.1, { key: 'a/good' })
  await stage.lineUp('r', 0.2, { key: 'a/b/c' })
  await stage.lineUp('s', 0.3, { key: 'other' })
  return stage
}

const foreign = ({ redis, tag }: RedisStage, table: 'buckets' | 'quotas' | 'totals', field: string) =>
  redis.hset(shardKey(tag, table), field, 'foreign value')

async function replace({ redis, tag }: RedisStage, name: string): Promise<void> {
  await redis.del(`${tag}:${name}`)
  await redis.set(`${tag}:${name}`, 'foreign value')
}

/** Claims once a second for seven seconds, and starts what is handed over. Returns all ids that were. */
async function handedOver(stage: RedisStage): Promise<string[]> {
  const ids: string[] = []
  for (let second = 1; second < 8; second++) {
    const jobs = await stage.hand(second)
    ids.push(...jobs.map(({ id }) => id))
    for (const job of jobs) {
      await stage.gate(job, second).catch(() => undefined)
      await stage.start(job, second).catch(() => undefined)
    }
  }
  return ids.toSorted()
}

describe('what cannot be read below a total holds up no other', () => {
  test.each<[string, readonly string[], (stage: RedisStage) => Promise<unknown>]>([
    ['the record of a key', ['q', 'r', 's'], (stage) => foreign(stage, 'buckets', 'a/bad')],
    ['the line of a key', ['q', 'r', 's'], (stage) => replace(stage, 'line:1')],
    ['the record of a total', ['p', 'q', 's'], (stage) => foreign(stage, 'totals', 'a/b/')],
    ['what the quotas of a total count', ['p', 'q', 's'], (stage) => foreign(stage, 'quotas', 'a/b/')],
    ['what those of the outermost one count', ['s'], (stage) => foreign(stage, 'quotas', 'a/')],
  ])('%s', async (_, others, spoil) => {
    const stage = await dueFamilies()
    await spoil(stage)
    expect((await handedOver(stage)).filter((id) => others.includes(id))).toEqual(others)
  })

  test.each(['later', 'ready'])('what a total has under :%s', async (name) => {
    const stage = await dueFamilies()
    await replace(stage, `${name}:1`)
    expect(await handedOver(stage)).toEqual(['s'])
  })
})

test('what a total has under :callers holds nothing up', async () => {
  const stage = await dueFamilies()
  await replace(stage, 'callers:1')
  expect(await handedOver(stage)).toEqual(['p', 'q', 'r', 's'])
})

describe('a total whose record is that of another one', () => {
  test.each([
    ['a/b/', 'a/'],
    ['a/', 'a/b/'],
  ])('%s with the record of %s: each call ends', async (path, other) => {
    const stage = await dueFamilies()
    const totals = shardKey(stage.tag, 'totals')
    await stage.redis.hset(totals, path, (await stage.redis.hgetBuffer(totals, other))!)
    expect(await handedOver(stage)).toContain('s')
    const ends = async (call: Promise<unknown>) =>
      call.then(
        () => 'done',
        (error: unknown) => (isVelvetRopeError(error) ? error.code : error),
      )
    const calls = [
      stage.admit('t', 9, { key: 'a/b/c' }),
      stage.admit('u', 9, { key: 'a/good' }),
      stage.backend.verbs.cancel('r', at(9)),
      stage.backend.verbs.pause('a/bad', at(9)),
    ]
    for (const call of calls) expect(['done', 'foreign-value']).toContain(await ends(call))
  })
})

test.each(['later', 'ready'])('a call that would write to a foreign :%s writes nothing', async (name) => {
  const stage = await dueFamilies()
  await replace(stage, `${name}:1`)
  const before = await stage.dump()
  await expect(stage.backend.verbs.cancel('p', at(1))).rejects.toMatchObject({ code: 'foreign-value' })
  await expect(stage.admit('t', 1, { key: 'a/good' })).rejects.toMatchObject({ code: 'foreign-value' })
  expect(await stage.dump()).toEqual(before)
})

test.each([
  { '*': DAILY, 'a/': TOTAL, 'a/b/': TOTAL },
  { '*': DAILY, 'a/': DAILY, 'a/b/': DAILY },
])('what lacked a time zone goes on soon after that is written: %o', async (limits) => {
  const stage = await dueFamilies(limits)
  for (const key of await stage.redis.keys(`${stage.tag}*zones*`)) await stage.redis.del(key)
  await stage.claim(1).catch(() => undefined)
  await stage.backend.store.writeZones(0, ['Asia/Tokyo'], { isUnusable: true, now: at(1) })
  expect(await handedOver(stage)).toEqual(['p', 'q', 'r', 's'])
})

import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const PACE = '9, 10/s, tolerance 0'
const LIMIT = '9, 10/s, 2 per 5 seconds, tolerance 0'

async function setLimit(stage: RedisStage, text: string, seconds: number): Promise<void> {
  await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', text) }, at(seconds))
}

/** A stage on which two of two have started, at 0 and 0.1 s; then the limit is `after`. */
async function usedUp(after: string): Promise<RedisStage> {
  const stage = await RedisStage.open(LIMIT)
  await stage.lineUp('ab', 0)
  const ran = [await stage.run(0), await stage.run(0.1)]
  for (const job of ran) await stage.finish(job, COMPLETED, 0.5)
  await setLimit(stage, after, 0.6)
  return stage
}

/** The bucket's copy of its limit, as it is written, and what its quotas count. */
async function stored(stage: RedisStage) {
  const record = (await stage.redis.hgetBuffer(shardKey(stage.tag, 'buckets'), 'a'))!.toString('latin1')
  const [, text, parts] = /\*\0([^\n\0]+)(?:\n([^\0]*))?\0/.exec(record) ?? []
  const counted = await stage.redis.hgetBuffer(shardKey(stage.tag, 'quotas'), 'a')
  return { text, quotas: parts === undefined ? undefined : JSON.parse(parts).quotas, counted }
}

test('a bucket whose limit never had a quota stores nothing more when that changes', async () => {
  const stage = await RedisStage.open('8, 10/s, tolerance 0')
  await stage.lineUp('a', 0)
  await stage.finish(await stage.run(0), COMPLETED, 0.1)
  await setLimit(stage, PACE, 0.2)
  expect(await stored(stage)).toEqual({ text: PACE, quotas: undefined, counted: null })
})

test.each([
  [PACE, []],
  ['9, 10/s, tolerance 0, 3 at once', []],
  [
    '9, 10/s, tolerance 0, 20/second, 7 tokens/second 1 each',
    [
      { amount: 20, length: SECOND },
      { amount: 7, unit: 'tokens', each: 1, length: SECOND },
    ],
  ],
])(
  'under %s, an older version finds quotas that hold nothing behind those of the limit',
  async (after, own) => {
    const stage = await usedUp(after)
    const { text, quotas, counted } = await stored(stage)
    expect(text).toBe(after)
    const remembered = { over: at(5.6), amount: 1e15, length: 5 * SECOND }
    expect(quotas).toEqual([...own, remembered])
    // It refuses a record that counts in another number of quotas.
    expect(counted!.readUInt8(2)).toBe(own.length + 1)
  },
)

test('the limit of the rule has not changed where a bucket remembers something', async () => {
  const stage = await usedUp(PACE)
  const before = await stored(stage)
  await stage.backend.rules.change({ kind: 'set', rule: parseRule('other', LIMIT) }, at(0.7))
  await stage.lineUp('c', 0.8)
  expect(await stored(stage)).toEqual(before)
  await stage.run(0.9)
  expect((await stored(stage)).quotas).toHaveLength(1)
})

test('what was remembered is gone with the first slot after it is over', async () => {
  const stage = await usedUp(PACE)
  await stage.lineUp('cd', 2)
  await stage.finish(await stage.run(3), COMPLETED, 3.1)
  expect((await stored(stage)).quotas).toHaveLength(1)
  await stage.finish(await stage.run(5.61), COMPLETED, 5.65)
  expect(await stored(stage)).toEqual({ text: PACE, quotas: undefined, counted: null })
})

test('where the clock is set forward, it is remembered for as much longer', async () => {
  const stage = await usedUp(PACE)
  await stage.lineUp('c', 1)
  await stage.jump(61, 60 * SECOND)
  await setLimit(stage, LIMIT, 62)
  expect(await stage.inspect('a', 62)).toMatchObject({ quotas: [{ used: 2 }] })
  expect(await stage.startOfHead(62, 70)).toBeGreaterThanOrEqual(65)
})

test('also where its bucket was forgotten before the step was known', async () => {
  const stage = await usedUp(PACE)
  stage.setClock(61)
  await stage.claim(61)
  expect(await stage.list(61)).toMatchObject({ total: 0 })
  await stage.jump(61.2, 60 * SECOND)
  await setLimit(stage, LIMIT, 61.25)
  await stage.lineUp('x', 61.3)
  expect(await stage.startOfHead(61.3, 70)).toBeGreaterThanOrEqual(65)
})

test('what is kept of a bucket that was forgotten goes when its windows are over', async () => {
  const stage = await usedUp(PACE)
  await stage.lineUp('c', 2)
  await stage.finish(await stage.run(3), COMPLETED, 3.1)
  const kept = () => stage.redis.exists(shardKey(stage.tag, 'past'), shardKey(stage.tag, 'pastends'))
  await stage.claim(5.7)
  expect(await stage.list(5.7)).toMatchObject({ total: 0 })
  expect(await kept()).toBe(2)
  // The last start would count until 8.1.
  await stage.claim(7.7)
  expect(await kept()).toBe(0)
})

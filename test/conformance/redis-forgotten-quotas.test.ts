import { expect, test } from 'vitest'
import { DAY, SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

/** Two start within five seconds: counted in sub-windows of 84 ms. */
const LIMIT = '9, 10/s, 2 per 5 seconds, tolerance 0'
const WINDOW = 5
const LOST = 0.25

/** A stage on which the quota is used up since 0 and 0.1 s, and nothing waits or runs. */
async function usedUp(): Promise<RedisStage> {
  const stage = await RedisStage.open(LIMIT)
  await stage.lineUp('ab', 0)
  const ran = [await stage.run(0), await stage.run(0.1)]
  for (const job of ran) await stage.finish(job, COMPLETED, 0.5)
  return stage
}

/** The clock is set forward by a minute, and a scheduler that has not noticed forgets the bucket. */
async function forgottenTooEarly(): Promise<RedisStage> {
  const stage = await usedUp()
  stage.setClock(61)
  await stage.claim(61)
  expect(await stage.list(61)).toMatchObject({ total: 0 })
  await stage.jump(61.2, 60 * SECOND)
  return stage
}

function kept(stage: RedisStage): Promise<number> {
  return stage.redis.exists(shardKey(stage.tag, 'past'), shardKey(stage.tag, 'pastends'))
}

test('what a forgotten bucket counted is dropped when no step forward can bring it back', async () => {
  const stage = await usedUp()
  await stage.claim(5.3)
  expect(await stage.list(5.3)).toMatchObject({ buckets: [], total: 0 })
  expect(await kept(stage)).toBe(2)
  await stage.claim(6.9)
  expect(await kept(stage)).toBe(2)
  const { nextForgetting } = await stage.claim(7)
  expect(nextForgetting).toBeLessThan(at(8))
  await stage.claim(7.3)
  expect(await kept(stage)).toBe(0)
})

test('and counts for nothing until then', async () => {
  const stage = await usedUp()
  await stage.claim(5.3)
  await stage.lineUp('xy', 5.4)
  expect(await stage.inspect('a', 5.4)).toMatchObject({ quotas: [{ used: 0 }] })
  expect(await stage.startOfHead(5.4, 6)).toBe(5.4)
})

test('where the clock proves to have been set forward, it counts again in verdicts and at the gate', async () => {
  const stage = await forgottenTooEarly()
  const { admission } = await stage.admit('x', 61.3)
  expect(admission).toMatchObject({ accepted: true })
  expect(admission.accepted && admission.departsAt * 1_000).toBeGreaterThanOrEqual(at(60 + WINDOW))
  expect(await stage.startOfHead(61.3, 70)).toBeGreaterThanOrEqual(60 + WINDOW)
})

test('also under a limit that has changed since', async () => {
  const stage = await forgottenTooEarly()
  const rule = parseRule('*', '9, 20/s, 50/hour, 2 per 5 seconds, tolerance 0')
  await stage.backend.rules.change({ kind: 'set', rule }, at(61.25))
  await stage.lineUp('x', 61.3)
  expect(await stage.startOfHead(61.3, 70)).toBeGreaterThanOrEqual(60 + WINDOW)
})

test('also where it was used and forgotten again meanwhile', async () => {
  const stage = await usedUp()
  stage.setClock(61)
  await stage.claim(61)
  await stage.lineUp('x', 61)
  await stage.backend.verbs.cancel('x', at(61.05))
  await stage.claim(61.1)
  expect(await stage.list(61.1)).toMatchObject({ total: 0 })
  await stage.jump(61.2, 60 * SECOND)
  await stage.lineUp('y', 61.3)
  expect(await stage.startOfHead(61.3, 70)).toBeGreaterThanOrEqual(60 + WINDOW)
})

test('where the clock was set back meanwhile, it counts for one window at most', async () => {
  const stage = await usedUp()
  await stage.claim(5.3)
  stage.setClock(5.5 - DAY / SECOND)
  await stage.jump(5.5 - DAY / SECOND, -DAY)
  // Claims bring back the buckets that are there.
  for (const seconds of [5.6, 5.7, 5.8]) await stage.claim(seconds - DAY / SECOND)
  await stage.lineUp('x', 6 - DAY / SECOND)
  const started = (await stage.startOfHead(6 - DAY / SECOND, 20 - DAY / SECOND)) + DAY / SECOND
  expect(started).toBeLessThanOrEqual(6 + WINDOW + 2 * LOST)
})

test('what another program wrote in its place refuses a new bucket', async () => {
  const stage = await usedUp()
  await stage.claim(5.3)
  await stage.redis.hset(shardKey(stage.tag, 'past'), 'a', 'not ours')
  await expect(stage.admit('x', 5.4)).rejects.toThrow('past')
  await stage.redis.hdel(shardKey(stage.tag, 'past'), 'a')
  await stage.lineUp('x', 5.5)
})

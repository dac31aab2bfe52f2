import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, request } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { readsDuring } from '../support/script-reads.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const NEVER = Number.POSITIVE_INFINITY
const LIMIT = '3000, 10/s, tolerance 0, 9000 tokens/hour 2 each'

/** On a server of its own, where no other script is counted. */
async function lineOf(length: number, limit: string): Promise<RedisStage> {
  const server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(async () => {
    client.disconnect()
    await server.stop()
  })
  const stage = await RedisStage.open(limit, { connection: connect(server.url), client })
  const asked = Array.from({ length }, (_, n) => ({ ...request(`j${n}`, {}), deadline: NEVER }))
  await stage.backend.verbs.admitMany(asked, at(0))
  return stage
}

test('where no quota can hold a job of a long line, a verdict is exact and reads none of them', async () => {
  const stage = await lineOf(1_000, `${LIMIT}, 3000/day`)
  const reads = await readsDuring(stage.redis, async () => {
    const { admission } = await stage.admit('new', 0, { costs: { tokens: 5_000 } })
    expect(admission).toMatchObject({ accepted: true, waitMs: 100_000 })
    expect(admission.isEstimate).toBeUndefined()
  })
  expect(reads.entries).toBeLessThan(30)
  // With 5,000 tokens and 2 for each of the others, 2,000 are left.
  expect((await stage.admit('most', 0, { costs: { tokens: 1_999 } })).admission.isEstimate).toBeUndefined()
  expect((await stage.admit('more', 0, { costs: { tokens: 2 } })).admission.isEstimate).toBe(true)
  expect(await recount(stage.redis, stage.tag)).toEqual([])
})

test('a refusal of a full line reads only as many jobs as have to depart', async () => {
  const stage = await lineOf(300, '300, 10/s, 100/minute')
  const reads = await readsDuring(stage.redis, async () => {
    const { admission } = await stage.admit('new', 0)
    expect(admission).toMatchObject({ accepted: false, reason: 'full', retryAfterMs: 100 })
    expect(admission.isEstimate).toBeUndefined()
  })
  expect(reads.entries).toBeLessThan(40)
})

/** What a quota counts, without the sums of what waits. */
function withoutSums(record: Buffer): Buffer {
  const parts = [record.subarray(0, 19)]
  for (let from = 19; from < record.length; ) {
    const size = record.readUInt16LE(from)
    const [ends, used] = [0, 1].map((half) =>
      record.subarray(from + 2 + half * size * 8, from + 2 + (half + 1) * size * 8),
    )
    let sums = 0
    while (sums < size && record.readDoubleLE(from + 2 + sums * 8) < 0) sums++
    const count = Buffer.alloc(2)
    count.writeUInt16LE(size - sums)
    parts.push(count, ends!.subarray(sums * 8), used!.subarray(sums * 8))
    from += 2 + size * 16
  }
  return Buffer.concat(parts)
}

test('what code without sums lets in, lets out or starts is counted anew', async () => {
  const stage = await RedisStage.open(LIMIT)
  const quotas = shardKey(stage.tag, 'quotas')
  const tokens = (units: number) => ({ costs: { tokens: units } })
  /** Such code does not write what a quota counts when a job comes or goes. */
  const asBefore = async (change: () => Promise<unknown>) => {
    const kept = await stage.redis.hgetBuffer(quotas, 'a')
    await change()
    if (kept === null) await stage.redis.hdel(quotas, 'a')
    else await stage.redis.hset(quotas, 'a', kept)
  }
  const expectLeft = async (units: number) => {
    const waitFor = async (more: number) => {
      const forecast = await stage.backend.verbs.forecast('a', 1, at(1), tokens(units + more).costs)
      return forecast.accepted && forecast.waitMs
    }
    expect(await waitFor(0)).toBeLessThan(10_000)
    expect(await waitFor(1)).toBeGreaterThan(3_000_000)
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  }
  await asBefore(() => stage.admit('a', 0, tokens(1_000)))
  await asBefore(() => stage.admit('b', 0, tokens(2_000)))
  await expectLeft(6_000)
  await stage.admit('c', 0, tokens(500))
  await expectLeft(5_500)
  await asBefore(() => stage.admit('d', 0, tokens(700)))
  await expectLeft(4_800)
  await asBefore(() => stage.backend.verbs.cancel('b', at(0)))
  await expectLeft(6_800)
  await stage.admit('e', 0)
  await expectLeft(6_798)
  const [a] = await stage.hand(1)
  await stage.gate(a!, 1)
  const granted = await stage.redis.hgetBuffer(quotas, 'a')
  expect(granted!.length - withoutSums(granted!).length).toBe(96)
  await stage.redis.hset(quotas, 'a', withoutSums(granted!))
  await expectLeft(6_798)
  expect(await stage.start(a!, 1)).toBe(true)
  await expectLeft(6_798)
  // What such code reads beside the sums is what it would have written.
  expect((await stage.inspect('a', 1))?.quotas).toMatchObject([{ used: 1_000 }])
})

test('what code started that does not know of turns may have been one, so that it may be settled', async () => {
  const stage = await RedisStage.open(LIMIT)
  const quotas = shardKey(stage.tag, 'quotas')
  const forecast = () => stage.backend.verbs.forecast('a', 1, at(1), { tokens: 9_000 })
  const estimate = async () => (await forecast()).isEstimate
  await stage.admit('a', 0, { costs: { tokens: 1_000 } })
  const [a] = await stage.hand(0)
  await stage.gate(a!, 0)
  expect(await stage.start(a!, 0)).toBe(true)
  await stage.finish(a!, COMPLETED, 1)
  expect(await estimate()).toBeUndefined()
  await stage.redis.hset(quotas, 'a', withoutSums((await stage.redis.hgetBuffer(quotas, 'a'))!))
  expect(await estimate()).toBe(true)
})

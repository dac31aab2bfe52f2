import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { shardTag } from '../../src/redis/scripts/keys.ts'
import { BullMqHandoff } from '../../src/redis/transport/bullmq-handoff.ts'
import { eventually } from '../support/patience.ts'
import { lookAt } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const BUCKETS = 40

function stage() {
  const prefix = uniquePrefix()
  const rope = `${shardTag(prefix, 'test', 0)}:rope`
  const open = () => {
    const shaper = new Shaper('test', { limits: { '*': '9, 10/s' }, connection: redisAddress(), prefix })
    onTestFinished(() => shaper.close())
    return shaper
  }
  const waiting = () => lookAt().lrange(`${rope}:wait`, 0, -1)
  const kept = async () => (await lookAt().keys(`${rope}:*`)).filter((key) => /_e\d+/.test(key))
  return { open, waiting, kept }
}

test('deliveries of jobs that expired or were cancelled while no worker ran are removed', async () => {
  const { open, waiting, kept } = stage()
  const shaper = open()
  const keys = Array.from({ length: BUCKETS }, (_, n) => `k${n}`)
  const expired = keys.map((key) => ({ key, data: 1, id: `x${key}`, deadlineMs: 1_000 }))
  const cancelled = keys.map((key) => ({ key: `c${key}`, data: 1, id: `c${key}` }))
  await shaper.enqueueMany([...expired, ...cancelled])
  shaper.schedule()
  await eventually(async () => expect((await waiting()).length).toBeGreaterThan(0))
  for (const { id } of cancelled) await shaper.cancel(id)
  await eventually(async () => expect(await waiting()).toEqual([]))
  expect(await kept()).toEqual([])
  const { admitted, ended } = await shaper.audit()
  expect([admitted, ended]).toEqual([2 * BUCKETS, 2 * BUCKETS])
})

test('jobs that wait for a worker keep theirs, and start when one comes', async () => {
  const { open, waiting } = stage()
  const shaper = open()
  for (const id of ['gone', 'stays']) await shaper.enqueue(id, 1, { id })
  shaper.schedule()
  await eventually(async () => expect((await waiting()).length).toBeGreaterThan(0))
  await shaper.cancel('gone')
  await eventually(async () => {
    const names = await waiting()
    expect(names.filter((name) => name.startsWith('gone'))).toEqual([])
    expect(names.filter((name) => name.startsWith('stays'))).toHaveLength(1)
  })
  const id = await new Promise((resolve) => open().work((job) => resolve(job.id)))
  expect(id).toBe('stays')
})

describe('a sweep', () => {
  function handoffStage() {
    const tag = shardTag(uniquePrefix(), 'test', 0)
    const open = () => new Redis(redisAddress(), { maxRetriesPerRequest: null })
    let later = 0
    const now = () => Date.now() + later
    const handoff = new BullMqHandoff({ tags: [tag], open, onError: () => {}, now })
    /** What was handed over so far has waited for longer than a lease lasts. */
    const grow = () => {
      later += 3_600_000
    }
    onTestFinished(() => handoff.close())
    const handed = new Set<string>()
    const asked: number[] = []
    const sweep = () =>
      handoff.sweep(0, async (jobs) => {
        asked.push(jobs.length)
        return jobs.map(({ id }) => handed.has(id))
      })
    const names = async () => (await lookAt().lrange(`${tag}:rope:wait`, 0, -1)).reverse()
    const hand = (from: number, count: number) => {
      const ids = Array.from({ length: count }, (_, n) => `j${from + n}`)
      return handoff.hand(
        0,
        ids.map((id) => ({ id, epoch: 1, key: 'k', shard: 0 })),
      )
    }
    return { handoff, tag, handed, asked, sweep, names, hand, grow }
  }

  test('does nothing while workers fetch: while the oldest delivery is a new one', async () => {
    const { asked, sweep, names, hand, grow } = handoffStage()
    expect(await sweep()).toBe(0)
    await hand(0, 2)
    expect([await sweep(), await sweep(), asked]).toEqual([0, 0, []])
    grow()
    expect(await sweep()).toBe(2)
    expect(await names()).toEqual([])
  })

  test('is not kept from the others by the oldest delivery, which is taken back each time', async () => {
    const { handoff, handed, sweep, names, hand, grow } = handoffStage()
    await hand(0, 6)
    handed.add('j1')
    grow()
    await handoff.take(0, [{ id: 'j0', epoch: 1 }])
    expect(await sweep()).toBe(4)
    await hand(10, 1)
    await handoff.take(0, [{ id: 'j1', epoch: 1 }])
    expect(await sweep()).toBe(1)
    expect(await names()).toEqual([])
  })

  test('keeps a bundle as long as one of its jobs needs it', async () => {
    const { handed, sweep, names, hand, grow } = handoffStage()
    await hand(0, 64)
    grow()
    handed.add('j3')
    expect(await sweep()).toBe(31)
    expect(await names()).toEqual(['j2_e1'])
    handed.clear()
    expect(await sweep()).toBe(1)
    expect(await names()).toEqual([])
  })

  test('looks at 200 deliveries, and asks for 200 jobs at a time', async () => {
    const { asked, sweep, names, hand, grow } = handoffStage()
    for (let n = 0; n < 30; n++) await hand(10 * n, 10)
    await hand(1_000, 200)
    grow()
    expect(await sweep()).toBe(200)
    expect([asked, (await names()).length]).toEqual([[200], 100 + 29])
    expect(await sweep()).toBe(129)
    expect(asked).toEqual([200, 200, 100])
  })

  test('leaves to workers what it cannot read', async () => {
    const { tag, sweep, names, hand, grow } = handoffStage()
    const connection = new Redis(redisAddress(), { maxRetriesPerRequest: null })
    const queue = new Queue('rope', { prefix: tag, connection })
    onTestFinished(async () => {
      await queue.close()
      connection.disconnect()
    })
    await queue.add('job', { userId: 7 }, { jobId: 'x_e1' })
    await hand(0, 2)
    grow()
    expect(await sweep()).toBe(2)
    expect(await names()).toEqual(['x_e1'])
  })
})

import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { BullMqHandoff } from '../../src/redis/transport/bullmq-handoff.ts'
import { startRedis } from '../support/redis-server.ts'

/** Bundles of eight are on their way. */
async function handedOver(bundles: number) {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const open = () => new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  const admin = open()
  onTestFinished(() => admin.disconnect())
  const handoff = new BullMqHandoff({ tags: ['{vr:on:0}'], open, onError: () => {}, graceMs: 300 })
  onTestFinished(() => handoff.close())
  const ids = Array.from({ length: 8 * bundles }, (_, index) => `j${index}`)
  const jobs = ids.map((id) => ({ id, epoch: 1, key: 'k', shard: 0 }))
  // So many that eight travel together.
  for (let from = 0; from < jobs.length; from += 64) await handoff.hand(0, jobs.slice(from, from + 64))
  return { admin, handoff, ids: ids.sort() }
}

/** A process with room for so many jobs of a bundle; what it took is let go with `letGo`. */
async function receive(handoff: BullMqHandoff, room: number, { holds = false } = {}) {
  const ids: string[] = []
  let letGo = () => {}
  const isLet = new Promise<void>((resolve) => {
    letGo = resolve
  })
  await handoff.receive({
    onError: () => {},
    room: () => room,
    onDelivery: async ({ id }) => {
      ids.push(id)
      if (holds) await isLet
    },
  })
  return { ids, letGo }
}

test('what a process has no room for comes to another, in bundles of that size', async () => {
  const { handoff, ids } = await handedOver(8)
  expect(await handoff.unfetched(0)).toBe(8)
  const full = await receive(handoff, 3, { holds: true })
  // It fetches four bundles at once, and hands on 3 and 2 of each.
  await expect.poll(() => handoff.unfetched(0)).toBe(4 + 4 * 2)
  expect(full.ids).toHaveLength(4 * 3)
  const free = await receive(handoff, 99)
  await expect.poll(() => free.ids.length).toBe(ids.length - full.ids.length)
  full.letGo()
  expect([...full.ids, ...free.ids].sort()).toEqual(ids)
})

test('a process without any room takes one of a bundle at a time', async () => {
  const { handoff, ids } = await handedOver(8)
  const inbox = await receive(handoff, 0)
  await expect.poll(() => inbox.ids.length).toBe(ids.length)
  expect([...inbox.ids].sort()).toEqual(ids)
})

test('what cannot be handed on stays with the process that fetched it', async () => {
  const { admin, handoff, ids } = await handedOver(8)
  // A new delivery is refused, an end of one is not.
  await admin.acl('SETUSER', 'default', '-incr')
  const inbox = await receive(handoff, 1)
  await expect.poll(() => inbox.ids.length).toBe(ids.length)
  expect([...inbox.ids].sort()).toEqual(ids)
})

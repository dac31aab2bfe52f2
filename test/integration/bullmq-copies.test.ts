import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { BullMqHandoff } from '../../src/redis/transport/bullmq-handoff.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

test('a connection that BullMQ opens again after it was closed does not stay', async () => {
  const name = uniquePrefix()
  const admin = new Redis(redisAddress())
  onTestFinished(() => admin.disconnect())
  const connected = async () => String(await admin.client('LIST')).split(`name=${name}`).length - 1
  const copies: Redis[] = []
  const open = () => {
    const client = new Redis(redisAddress(), { maxRetriesPerRequest: null, connectionName: name })
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (options) => {
      const copy = duplicate(options)
      copies.push(copy)
      return copy
    }
    return client
  }
  const handoff = new BullMqHandoff({ tags: [`{vr:${name}:0}`], open, onError: () => {} })
  const receiver = await handoff.receive({ onDelivery: async () => {}, onError: () => {} })
  await expect.poll(() => copies.map(({ status }) => status)).toEqual(['ready'])
  await receiver.close()
  await handoff.close()
  // As BullMQ does, when the answer that it waited for does not come in time.
  await Promise.allSettled(copies.map((copy) => copy.connect()))
  await expect.poll(() => copies.map(({ status }) => status)).toEqual(['end'])
  await expect.poll(connected).toBe(0)
})

test('a wait of BullMQ fails when its receiver is closed, though its connection was lost before', async () => {
  const name = uniquePrefix()
  const copies: Redis[] = []
  const open = () => {
    const client = new Redis(redisAddress(), { maxRetriesPerRequest: null })
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (options) => {
      // It is still away when the receiver is closed.
      const copy = duplicate({ ...options, retryStrategy: () => 3_600_000 })
      copies.push(copy)
      return copy
    }
    return client
  }
  const handoff = new BullMqHandoff({ tags: [`{vr:${name}:0}`], open, onError: () => {} })
  const receiver = await handoff.receive({ onDelivery: async () => {}, onError: () => {} })
  const [copy] = copies
  const wait = copy!.bzpopmin.bind(copy) as (...what: unknown[]) => Promise<unknown>
  const waits: Promise<unknown>[] = []
  const noting = (...what: unknown[]) => {
    const answer = wait(...what)
    waits.push(answer)
    return answer
  }
  Object.assign(copy!, { bzpopmin: noting })
  await expect.poll(() => waits.length).toBeGreaterThan(0)
  copy!.disconnect(true)
  await expect.poll(() => copy!.status).toBe('reconnecting')
  await receiver.close()
  await handoff.close()
  await expect(waits.at(-1)).rejects.toThrow('Connection is closed')
})

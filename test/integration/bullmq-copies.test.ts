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

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
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

test('a worker of BullMQ that fetches no more is replaced, and its connection neither stays nor is kept', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const copies: WeakRef<Redis>[] = []
  let waits = () => {}
  const isWaiting = new Promise<void>((resolve) => {
    waits = resolve
  })
  const open = () => {
    const client = new Redis(redisAddress(), { maxRetriesPerRequest: null })
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (options) => {
      const copy = duplicate(options)
      if (copies.length === 0) Object.assign(copy, { bzpopmin: () => waitForEver(copy, waits) })
      copies.push(new WeakRef(copy))
      return copy
    }
    return client
  }
  const handoff = new BullMqHandoff({ tags: [`{vr:${uniquePrefix()}:0}`], open, onError: () => {} })
  onTestFinished(() => handoff.close())
  const received: string[] = []
  await handoff.receive({ onDelivery: async ({ id }) => void received.push(id), onError: () => {} })
  await isWaiting
  await handoff.hand(0, [{ id: 'a', epoch: 1, key: 'k', shard: 0 }])
  await expect.poll(() => vi.advanceTimersByTime(5_000) && received).toEqual(['a'])
  const replaced = copies.slice(0, -1)
  expect(replaced).not.toEqual([])
  // As BullMQ does, when the answer that it waited for does not come in time.
  await Promise.allSettled([replaced[0]!.deref()?.connect()])
  await expect.poll(() => replaced.every((copy) => (copy.deref()?.status ?? 'end') === 'end')).toBe(true)
  await expect.poll(() => collect() ?? replaced.filter((copy) => copy.deref() !== undefined).length).toBe(0)
})

/** An answer that comes only when the connection has ended. */
function waitForEver(client: Redis, onWait: () => void): Promise<never> {
  onWait()
  return new Promise((_, reject) => client.once('end', () => reject(new Error('Connection is closed.'))))
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => undefined

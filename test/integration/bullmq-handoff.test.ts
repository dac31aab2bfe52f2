import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import { BullMqHandoff, type BullMqHandoffOptions } from '../../src/redis/transport/bullmq-handoff.ts'
import type { Delivery, ReceiveOptions, Receiver } from '../../src/redis/transport/transport.ts'
import { beforeTimer } from '../support/patience.ts'
import type { RedisProcess } from '../support/redis-process.ts'
import { startRedis } from '../support/redis-server.ts'

let server: RedisProcess
let admin: Redis
let tag: string
let tests = 0
let errors: Error[]
let handoffs: BullMqHandoff[]
let closings: (() => Promise<unknown>)[]

beforeAll(async () => {
  server = await startRedis()
  admin = new Redis(server.url).on('error', () => {})
})

afterAll(async () => {
  admin.disconnect()
  await server.stop()
})

beforeEach(() => {
  tag = `{vr:t${tests++}:0}`
  errors = []
  handoffs = []
  closings = []
})

afterEach(async () => {
  server.resume()
  for (const close of closings) await close()
  await Promise.all(handoffs.map((handoff) => handoff.close()))
})

function open(): Redis {
  return new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
}

function newHandoff(options: Partial<BullMqHandoffOptions> = {}): BullMqHandoff {
  const handoff = new BullMqHandoff({
    tags: [tag],
    open,
    onError: (error) => void errors.push(error),
    graceMs: 300,
    answerWithinMs: 1_000,
    ...options,
  })
  handoffs.push(handoff)
  return handoff
}

/** Keeps what comes, and lets a test wait until so many have come. */
class Inbox {
  readonly deliveries: Delivery[] = []
  readonly errors: Error[] = []
  #waiting: { count: number; resolve: () => void }[] = []

  receive(handoff: BullMqHandoff, options: Partial<ReceiveOptions> = {}): Promise<Receiver> {
    const { onDelivery, ...others } = options
    return handoff.receive({
      onError: (error) => {
        this.errors.push(error)
        this.#look()
      },
      onDelivery: async (delivery) => {
        this.deliveries.push(delivery)
        this.#look()
        await onDelivery?.(delivery)
      },
      ...others,
    })
  }

  /** Resolves when so many deliveries and errors have come. */
  has(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ count, resolve })
      this.#look()
    })
  }

  get ids(): string[] {
    return this.deliveries.map(({ id }) => id).sort()
  }

  #look(): void {
    const here = this.deliveries.length + this.errors.length
    for (const { resolve } of this.#waiting.filter(({ count }) => count <= here)) resolve()
    this.#waiting = this.#waiting.filter(({ count }) => count > here)
  }
}

const job = (id: string, epoch = 1): Delivery => ({ id, epoch, key: 'acme/1', shard: 0 })
/** A promise and what resolves it. */
function newGate(): { promise: Promise<void>; open: () => void } {
  let open = () => {}
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

const never = () => new Promise<void>(() => {})

/** Somebody else at the same queue. */
function stranger(): Queue {
  const connection = open()
  const queue = new Queue('rope', { prefix: tag, connection })
  closings.push(async () => {
    await queue.close()
    connection.disconnect()
  })
  return queue
}

/** Until it is so, asked again and again: nothing signals when BullMQ has written. */
async function becomes<T>(ask: () => Promise<T>, wanted: T): Promise<void> {
  for (let answer = await ask(); answer !== wanted; answer = await ask()) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const keysOf = async () => (await admin.keys(`${tag}:rope:*`)).map((key) => key.slice(tag.length + 6)).sort()

describe('a delivery', () => {
  test('arrives as it was handed over, and leaves nothing behind', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    await inbox.receive(handoff)
    await handoff.hand(0, [job('a'), job('b', 7)])
    await inbox.has(2)
    expect(inbox.deliveries).toEqual([job('a'), job('b', 7)])
    const isLeft = async () => (await keysOf()).filter((key) => /_e\d/.test(key) || key === 'wait').length
    await becomes(isLeft, 0)
    expect(await keysOf()).not.toContain('completed')
    expect(await admin.xlen(`${tag}:rope:events`)).toBeLessThan(20)
  })

  test('may have any text as its id', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    const ids = ['a:b', '0:x', '123', '%003a', 'é\n{}', '\ud800', '\udfff', '🎟', 'a:b:c', 'x'.repeat(300)]
    await inbox.receive(handoff)
    await handoff.hand(
      0,
      ids.map((id) => job(id)),
    )
    await inbox.has(ids.length)
    expect(inbox.ids).toEqual([...ids].sort())
    expect(inbox.errors).toEqual([])
  })

  test('goes out in chunks, however many there are', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    await inbox.receive(handoff)
    await handoff.hand(
      0,
      Array.from({ length: 1_001 }, (_, index) => job(`j${index}`)),
    )
    await inbox.has(1_001)
    expect(new Set(inbox.ids).size).toBe(1_001)
  })

  test('handed over twice while it waits is one; once more after it was received, it comes again', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    await handoff.hand(0, [job('a')])
    await handoff.hand(0, [job('a')])
    expect(await handoff.unfetched(0)).toBe(1)
    await inbox.receive(handoff)
    await inbox.has(1)
    await becomes(() => admin.exists(`${tag}:rope:a_e1`), 0)
    await handoff.hand(0, [job('a')])
    await inbox.has(2)
    expect(inbox.deliveries).toEqual([job('a'), job('a')])
  })

  test('keeps to its shard, and no more than four are out that were not taken on', async () => {
    const tags = [tag, tag.replace(':0}', ':1}')]
    const [handoff, inbox] = [newHandoff({ tags }), new Inbox()]
    const settle: (() => void)[] = []
    await inbox.receive(handoff, {
      onDelivery: () => new Promise((resolve) => void settle.push(resolve)),
    })
    await handoff.hand(
      1,
      ['a', 'b', 'c', 'd', 'e'].map((id) => ({ ...job(id), shard: 1 })),
    )
    await inbox.has(4)
    expect(await handoff.unfetched(1)).toBe(1)
    expect(await handoff.unfetched(0)).toBe(0)
    settle[0]!()
    await inbox.has(5)
    expect(inbox.deliveries.every(({ shard }) => shard === 1)).toBe(true)
    for (const done of settle) done()
  })

  test('whose receiver throws is reported and over', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    const onDelivery = () => Promise.reject(new Error('broken'))
    await inbox.receive(handoff, { onDelivery })
    await handoff.hand(0, [job('a')])
    await inbox.has(2)
    expect(inbox.errors.map(({ message }) => message)).toEqual(['broken'])
    await becomes(() => admin.exists(`${tag}:rope:a_e1`), 0)
    expect(await keysOf()).not.toContain('failed')
  })
})

describe('taking back', () => {
  test('removes deliveries that no worker fetched, again and again with the same count left', async () => {
    const handoff = newHandoff()
    const lost = Array.from({ length: 250 }, (_, index) => `j${index}`)
    for (let epoch = 1; epoch <= 3; epoch++) {
      await handoff.hand(
        0,
        lost.map((id) => job(id, epoch)),
      )
      // Eight travel together.
      expect(await handoff.unfetched(0)).toBe(32)
      await handoff.take(
        0,
        lost.map((id) => job(id, epoch)),
      )
      expect(await handoff.unfetched(0)).toBe(0)
    }
    expect((await keysOf()).filter((key) => key.startsWith('j'))).toEqual([])
  })

  test('leaves alone what a worker holds or what is not there', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    const gate = newGate()
    await inbox.receive(handoff, {
      onDelivery: () => gate.promise,
    })
    await handoff.hand(0, [job('held')])
    await inbox.has(1)
    await handoff.take(0, [job('held'), job('unknown')])
    expect(await admin.exists(`${tag}:rope:held_e1`)).toBe(1)
    gate.open()
    await becomes(() => admin.exists(`${tag}:rope:held_e1`), 0)
    expect([...inbox.errors, ...errors]).toEqual([])
  })
})

describe('a foreign value', () => {
  test.each([
    ['of another kind', { userId: 7 }, /"x_e1" is not ours .* got: an object$/],
    ['without any data', undefined, /is not ours/],
    ['of another version', { v: 2, id: 'x', at: 5 }, /"x_e1" has version 2, this process knows 1/],
    ['endless', { text: 'x'.repeat(10_000) }, /is not ours/],
  ])('%s is reported once, set aside with the reason and not tried again', async (_, data, message) => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    await inbox.receive(handoff)
    const options = { jobId: 'x_e1', attempts: 5, removeOnFail: true, removeOnComplete: true }
    const queue = stranger()
    await queue.add('job', data, options)
    await handoff.hand(0, [job('ours')])
    await inbox.has(2)
    await becomes(() => queue.getFailedCount(), 1)
    const [kept] = await queue.getFailed()
    expect(kept!.failedReason).toMatch(message)
    expect(kept!.data).toEqual(data ?? {})
    expect(kept!.attemptsMade).toBe(1)
    expect(inbox.ids).toEqual(['ours'])
    expect(inbox.errors.map((error) => isVelvetRopeError(error, 'foreign-value'))).toEqual([true])
    expect(inbox.errors[0]!.message).toMatch(message)
    expect(inbox.errors[0]!.message.length).toBeLessThan(300)
  })
})

describe('stop and close', () => {
  test('after stop nothing more is delivered, deliveries under way go on, and others get the rest', async () => {
    const [handoff, first, second] = [newHandoff(), new Inbox(), new Inbox()]
    const gate = newGate()
    const receiver = await first.receive(handoff, {
      onDelivery: () => gate.promise,
    })
    await handoff.hand(0, [job('under way')])
    await first.has(1)
    await receiver.stop()
    await handoff.hand(0, [job('a'), job('b')])
    await second.receive(handoff)
    await second.has(2)
    expect(first.ids).toEqual(['under way'])
    expect(second.ids).toEqual(['a', 'b'])
    gate.open()
    await becomes(() => admin.exists(`${tag}:rope:under way_e1`), 0)
    await receiver.close()
    expect(first.errors).toEqual([])
  })

  test('a stopped receiver, alone, leaves the jobs in the queue', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    const receiver = await inbox.receive(handoff)
    await handoff.hand(0, [job('first')])
    await inbox.has(1)
    await receiver.stop()
    await receiver.stop()
    await handoff.hand(0, [job('a')])
    await receiver.close()
    await becomes(() => handoff.unfetched(0), 1)
    expect(inbox.ids).toEqual(['first'])
  })

  test('close waits for deliveries under way, and nothing stays connected', async () => {
    const named = () => new Redis(server.url, { maxRetriesPerRequest: null, connectionName: tag })
    const clients = async () => String(await admin.client('LIST')).split(`name=${tag}`).length - 1
    const [handoff, inbox] = [newHandoff({ graceMs: 10_000, open: named }), new Inbox()]
    const gate = newGate()
    const receiver = await inbox.receive(handoff, {
      onDelivery: () => gate.promise,
    })
    await handoff.hand(0, [job('a')])
    await inbox.has(1)
    // To hand over, to fetch, and to wait for something to fetch.
    expect(await clients()).toBe(3)
    let isClosed = false
    const closed = Promise.all([receiver.close(), receiver.close()]).then(() => {
      isClosed = true
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isClosed).toBe(false)
    gate.open()
    await closed
    await handoff.close()
    expect(await keysOf()).not.toContain('a_e1')
    await becomes(clients, 0)
    await expect(handoff.hand(0, [job('b')])).rejects.toThrow('was closed')
  })

  test('close does not wait for ever for a delivery that hangs, nor for Redis', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    await inbox.receive(handoff, { onDelivery: never })
    await handoff.hand(0, [job('a')])
    await inbox.has(1)
    await beforeTimer(10_000, handoff.close())

    const [other, idle] = [newHandoff(), new Inbox()]
    await idle.receive(other)
    await other.hand(0, [job('b')])
    await idle.has(1)
    server.pause()
    await beforeTimer(10_000, other.close())
  })
})

describe('faults', () => {
  test('after every connection was killed, deliveries go on', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    await inbox.receive(handoff)
    for (const id of ['a', 'b', 'c', 'd']) {
      await handoff.hand(0, [job(id)])
      await becomes(async () => inbox.ids.includes(id), true)
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    }
  })

  test('after a restart of Redis, deliveries go on; meanwhile handing over fails within its time', async () => {
    const [handoff, inbox] = [newHandoff(), new Inbox()]
    await inbox.receive(handoff)
    await handoff.hand(0, [job('before')])
    await inbox.has(1)
    await server.kill()
    await expect(handoff.hand(0, [job('away')])).rejects.toMatchObject({ code: 'backend-unavailable' })
    await server.restart()
    await handoff.hand(0, [job('after')])
    await becomes(async () => inbox.ids.includes('after'), true)
    const messages = [...errors, ...inbox.errors].map(({ message }) => message)
    expect(messages.length).toBeLessThan(8)
  })

  test('a Redis that hangs: handing over fails within its time', async () => {
    const handoff = newHandoff()
    await handoff.hand(0, [job('a')])
    server.pause()
    await expect(handoff.hand(0, [job('b')])).rejects.toMatchObject({ code: 'backend-unavailable' })
    server.resume()
    await becomes(() => handoff.unfetched(0), 2)
  })

  test('what a worker held that died comes to another, once its lock has ended', async () => {
    const [dying, living, lost, found] = [newHandoff(), newHandoff(), new Inbox(), new Inbox()]
    await lost.receive(dying, { onDelivery: never })
    await dying.hand(0, [job('a')])
    await lost.has(1)
    await dying.close()
    // As if its lock had ended, and two checks had found it so.
    await admin.del(`${tag}:rope:a_e1:lock`, `${tag}:rope:stalled-check`)
    await admin.sadd(`${tag}:rope:stalled`, 'a_e1')
    await found.receive(living)
    await found.has(1)
    expect(found.deliveries).toEqual([job('a')])
  })
})

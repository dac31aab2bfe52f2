import { ErrorCode, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { BullMqHandoff } from '../../src/redis/transport/bullmq-handoff.ts'
import type { Delivery } from '../../src/redis/transport/transport.ts'
import { startRedis } from '../support/redis-server.ts'

const TAG = '{vr:taken:0}'
const DELIVERY = `${TAG}:rope:a_e1`
const a: Delivery = { id: 'a', epoch: 1, key: 'k', shard: 0 }

/** A promise and what resolves it. */
function newGate(): { promise: Promise<void>; open: () => void } {
  let open = () => {}
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

/** A worker of BullMQ that has a delivery, and ends it once `letGo` is called. `errors`: those that the line reports. */
async function held() {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const errors: Error[] = []
  const open = () => new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  const onError = (error: Error) => void errors.push(error)
  const handoff = new BullMqHandoff({ tags: [TAG], open, onError, graceMs: 300, answerWithinMs: 1_000 })
  onTestFinished(() => handoff.close())
  const redis = open()
  onTestFinished(() => redis.disconnect())
  const [isHere, isLet] = [newGate(), newGate()]
  onTestFinished(() => isLet.open())
  await handoff.receive({
    onError,
    onDelivery: () => {
      isHere.open()
      return isLet.promise
    },
  })
  await handoff.hand(0, [a])
  await isHere.promise
  return { redis, errors, letGo: isLet.open }
}

/** Resolves once a worker of BullMQ has emitted such an error, and all who listen have heard it. */
function said(isMeant: (error: Error) => boolean): Promise<void> {
  const { promise, open } = newGate()
  const emit = Worker.prototype.emit as (this: Worker, event: string, ...what: unknown[]) => boolean
  const spy = vi.spyOn(Worker.prototype, 'emit')
  onTestFinished(() => spy.mockRestore())
  spy.mockImplementation(function (this: Worker, event: string, ...what: unknown[]) {
    const isHeard = emit.call(this, event, ...what)
    if (event === 'error' && isMeant(what[0] as Error)) open()
    return isHeard
  })
  return promise
}

const withCode = (code: ErrorCode) => (error: Error) => Reflect.get(error, 'code') === code

test.each([
  [
    'that was given out again',
    ErrorCode.JobLockMismatch,
    (redis: Redis) => redis.set(`${DELIVERY}:lock`, 'b'),
  ],
  ['whose lock has ended', ErrorCode.JobLockNotExist, (redis: Redis) => redis.del(`${DELIVERY}:lock`)],
  ['that was over before', ErrorCode.JobNotExist, (redis: Redis) => redis.del(DELIVERY)],
])('the end of a delivery %s is no error', async (_, code, take) => {
  const { redis, errors, letGo } = await held()
  const refused = said(withCode(code))
  await take(redis)
  letGo()
  await refused
  expect(errors).toEqual([])
})

test('nor is it that the lock of one cannot be renewed', async () => {
  const { redis, errors } = await held()
  const refused = said(({ message }) => message.startsWith('could not renew lock'))
  await redis.set(`${DELIVERY}:lock`, 'b')
  await refused
  expect(errors).toEqual([])
})

test('any other error of a BullMQ worker is reported', async () => {
  const { redis, errors, letGo } = await held()
  const refused = said(withCode(ErrorCode.JobNotInState))
  await redis.del(`${TAG}:rope:active`)
  letGo()
  await refused
  expect(errors).toEqual([expect.objectContaining({ code: ErrorCode.JobNotInState })])
})

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { beforeTimer, eventually } from '../support/patience.ts'
import { startRedis } from '../support/redis-server.ts'
import { slowWay } from '../support/slow-way.ts'

const PRODUCERS: readonly (readonly [string, (shaper: Shaper) => Promise<unknown>])[] = [
  ['enqueue', (shaper: Shaper) => shaper.enqueue('k', 1)],
  ['enqueueMany', (shaper: Shaper) => shaper.enqueueMany([{ key: 'k', data: 1 }])],
  ['acquire', (shaper: Shaper) => shaper.acquire('k')],
  ['tryAcquire', (shaper: Shaper) => shaper.tryAcquire('k')],
]

test.each(PRODUCERS)(
  'with Redis gone silent after ready the first %s fails within two seconds',
  async (_, ask) => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const shaper = new Shaper('sms', { limits: { '*': '9, 10/s' }, connection: server.url })
    shaper.on('error', () => undefined)
    onTestFinished(() => shaper.close())
    await shaper.ready()
    server.pause()
    await expect(beforeTimer(2_000, ask(shaper))).rejects.toMatchObject({ code: 'backend-unavailable' })
    server.resume()
    expect(await shaper.enqueue('k', 2, { id: 'after' })).toMatchObject({ accepted: true })
  },
)

test.each(PRODUCERS)(
  'with Redis gone silent while it is opened the first %s fails within two seconds, and does nothing later',
  async (_, ask) => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    await using way = await slowWay(server.url)
    const shaper = new Shaper('sms', { limits: { '*': '9, 10/s' }, connection: way.url })
    shaper.on('error', () => undefined)
    onTestFinished(() => shaper.close())
    const refusal = expect(beforeTimer(2_000, ask(shaper))).rejects.toMatchObject({
      code: 'backend-unavailable',
    })
    // Each part of the way is within its own patience, all of it is not.
    await sleep(1_000)
    way.letGreet()
    await refusal
    way.letPass()
    await eventually(() => shaper.ready())
    expect(await shaper.audit()).toMatchObject({ admitted: 0 })
  },
)

test('while Redis cannot be reached callers hear of their signal, their timeout and the end of the shaper immediately', async () => {
  const server = await startRedis()
  await server.stop()
  const shaper = new Shaper('sms', { limits: { '*': '9, 10/s' }, connection: server.url })
  shaper.on('error', () => undefined)
  const aborted = shaper.acquire('k', { signal: AbortSignal.abort(new Error('enough')) })
  await expect(beforeTimer(1_000, aborted)).rejects.toThrow('enough')
  const signalled = shaper.acquire('k', { signal: AbortSignal.timeout(50) })
  await expect(beforeTimer(1_000, signalled)).rejects.toMatchObject({ name: 'TimeoutError' })
  const timed = shaper.acquire('k', { timeoutMs: 50 })
  await expect(beforeTimer(1_000, timed)).rejects.toMatchObject({ code: 'turn-timeout' })
  const left = expect(shaper.acquire('k')).rejects.toMatchObject({ code: 'closed' })
  const closed = shaper.close()
  await left
  await closed
})

import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { startRedis } from '../support/redis-server.ts'

test.each([
  ['enqueue', (shaper: Shaper) => shaper.enqueue('k', 1)],
  ['enqueueMany', (shaper: Shaper) => shaper.enqueueMany([{ key: 'k', data: 1 }])],
  ['acquire', (shaper: Shaper) => shaper.acquire('k')],
  ['tryAcquire', (shaper: Shaper) => shaper.tryAcquire('k')],
])('with Redis gone silent after ready the first %s fails', async (_, ask) => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const shaper = new Shaper('sms', { limits: { '*': '9, 10/s' }, connection: server.url })
  shaper.on('error', () => undefined)
  onTestFinished(() => shaper.close())
  await shaper.ready()
  server.pause()
  await expect(ask(shaper)).rejects.toMatchObject({ code: 'backend-unavailable' })
  server.resume()
  expect(await shaper.enqueue('k', 2, { id: 'after' })).toMatchObject({ accepted: true })
})

test('while Redis cannot be reached callers hear of their signal, their timeout and the end of the shaper', async () => {
  const server = await startRedis()
  await server.stop()
  const shaper = new Shaper('sms', { limits: { '*': '9, 10/s' }, connection: server.url })
  shaper.on('error', () => undefined)
  const aborted = shaper.acquire('k', { signal: AbortSignal.abort(new Error('enough')) })
  await expect(aborted).rejects.toThrow('enough')
  await expect(shaper.acquire('k', { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
    name: 'TimeoutError',
  })
  await expect(shaper.acquire('k', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'turn-timeout' })
  const left = expect(shaper.acquire('k')).rejects.toMatchObject({ code: 'closed' })
  const closed = shaper.close()
  await left
  await closed
})

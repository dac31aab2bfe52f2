import { expect, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

test('on Redis a handler takes no longer than its worker allows, whatever its job brought', async () => {
  const options = { limits: { '*': '9, 100/s' }, connection: redisAddress(), prefix: uniquePrefix() }
  await using shaper = new Shaper('timeouts', options)
  const reason = new Promise<unknown>((resolve) => {
    const handler = ({ signal }: { signal: AbortSignal }) =>
      new Promise<void>((end) => {
        signal.addEventListener('abort', () => {
          resolve(signal.reason)
          end()
        })
      })
    shaper.work(handler, { maxTimeoutMs: 30 })
  })
  await shaper.enqueue('k', 1, { timeoutMs: 3_600_000 })
  expect(await reason).toMatchObject({ code: 'handler-timeout', timeoutMs: 30 })
})

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createForwardHandler } from '../../src/forward/forward-handler.ts'
import { createHttpApp } from '../../src/http.ts'
import { Shaper } from '../../src/index.ts'
import { startRedis } from '../support/redis-server.ts'

const LIMIT = '50, 100/s, 1000 tokens/hour 900 each'

test('on Redis, costs come over HTTP, and the answers of a third party settle them', async () => {
  const api = createServer((_, response) => response.end('{"usage":{"total_tokens":100}}'))
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void api.close())
  const origin = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const redis = await startRedis()
  const shaper = new Shaper('settled', { limits: { '*': LIMIT }, connection: redis.url })
  onTestFinished(() => shaper.close())
  const app = createHttpApp(shaper)
  const handler = createForwardHandler({
    allow: [origin],
    allowPrivate: ['127.0.0.1'],
    settle: { tokens: 'usage.total_tokens' },
  })
  onTestFinished(() => handler.close())
  const ended = new Promise<void>((resolve) => {
    const ids = new Set<string>()
    shaper.on('completed', ({ id }) => void (ids.add(id).size === 5 && resolve()))
  })
  const data = { method: 'GET', url: origin }
  const jobs = Array.from({ length: 5 }, (_, n) => ({ key: 'k', id: `j${n}`, data, costs: { tokens: 600 } }))
  const answer = await app.request('/v1/jobs', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jobs }),
  })
  expect(answer.status).toBe(202)
  const { verdicts } = (await answer.json()) as { verdicts: { waitMs: number }[] }
  // By their estimates one starts now, and the next in an hour.
  expect(verdicts.map(({ waitMs }) => Math.floor(waitMs / 3_600_000))).toEqual([0, 1, 2, 3, 4])
  const view = await (await app.request('/v1/jobs/j4')).json()
  expect(view).toMatchObject({ state: 'waiting', costs: { tokens: 600 } })
  shaper.work(handler)
  await ended
  const forecast = await (await app.request('/v1/buckets/k/forecast?costs=tokens=500')).json()
  expect(forecast).toMatchObject({ accepted: true })
  // Five times a hundred were taken.
  expect(Number((forecast as { waitMs: number }).waitMs)).toBeLessThan(60_000)
})

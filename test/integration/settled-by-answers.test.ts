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

test('on Redis, a service settles the running attempt of a job once', async () => {
  const redis = await startRedis()
  const shaper = new Shaper('settled', { limits: { '*': LIMIT }, connection: redis.url, shards: 2 })
  onTestFinished(() => shaper.close({ drainMs: 0 }))
  let settleInside: ((amounts: Record<string, number>) => Promise<boolean>) | undefined
  const started = new Promise<void>((resolve) => {
    shaper.work((job) => {
      settleInside = (amounts) => job.settle(amounts)
      resolve()
      return new Promise(() => undefined)
    })
  })
  const events: unknown[] = []
  shaper.on('settled', (event) => void events.push(event))
  const app = createHttpApp(shaper)
  const settle = async (body: object, path = '/v1/jobs/j/settle') => {
    const headers = { 'Content-Type': 'application/json' }
    const answer = await app.request(path, { method: 'POST', headers, body: JSON.stringify(body) })
    return [answer.status, await answer.json()]
  }
  await shaper.enqueue('a/b', null, { id: 'j' })
  await started
  await shaper.enqueue('a/b', null, { id: 'waits' })
  // Its start is reported while its handler runs.
  await expect.poll(async () => (await settle({ costs: { images: 5 } }))[0]).toBe(422)
  expect(await settle({ costs: { tokens: 5 } }, '/v1/jobs/waits/settle')).toEqual([200, { settled: false }])
  expect((await settle({ costs: { tokens: 5 } }, '/v1/jobs/unknown/settle'))[0]).toBe(404)
  const unknown = await settle({ costs: { images: 5 } })
  expect(unknown).toMatchObject([422, { type: 'urn:velvet-rope:problem:unknown-unit', units: ['tokens'] }])
  expect(await settle({ costs: { tokens: 5 }, attempt: 2 })).toEqual([200, { settled: false }])
  expect((await shaper.inspect('a/b'))!.quotas).toMatchObject([{ used: 900 }])
  expect(await shaper.settle('j', { tokens: 7 }, { attempt: 1 })).toBe(true)
  expect(await settle({ costs: { tokens: 8 } })).toEqual([200, { settled: false }])
  expect(await settleInside!({ tokens: 9 })).toBe(false)
  // Or 900 more, if the other one has its slot by now.
  expect([7, 907]).toContain((await shaper.inspect('a/b'))!.quotas![0]!.used)
  expect(events).toMatchObject([{ id: 'j', key: 'a/b', cost: 1, attempt: 1, amounts: { tokens: 7 } }])
  expect(await shaper.settle('nothing', { tokens: 7 })).toBe(false)
  const again = await app.request('/v1/buckets/a%2Fb/jobs', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"data":1}',
  })
  // The first counts 7, and the second 900 once it has started.
  const room = /^"\*";r=4[89];t=\d+, "\* 1000 tokens\/hour";r=(993|93);qu="tokens"$/
  expect(again.headers.get('ratelimit')).toMatch(room)
})

import { createHash } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { meterSchema } from '../../../src/http/verdict-schemas.ts'
import { eventually } from '../../support/patience.ts'
import { redisAddress, startRedis, uniquePrefix } from '../../support/redis-server.ts'
import { serve } from './running.ts'

/** As an editor does it. */
function save(file: string, config: object): void {
  writeFileSync(`${file}.new`, stringify({ listen: '127.0.0.1:0', ...config }))
  renameSync(`${file}.new`, file)
}

async function fill(url: string, key: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${url}/v1/meters/${key}/fill`, {
    method: 'POST',
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

async function levelOf(url: string, key: string): Promise<{ level: number; capacity: number }> {
  const response = await fetch(`${url}/v1/meters/${key}`)
  return meterSchema.parse(await response.json())
}

test('in memory a service counts beside its lines, under limits that change while it runs', async () => {
  const service = await serve({ limits: { '*': '3, 1/h' } })
  const answers = await Promise.all(Array.from({ length: 20 }, () => fill(service.url, 'acme%2F1')))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
  const refused = answers.find(({ status }) => status === 429)!
  expect(refused.headers.get('ratelimit-policy')).toBe('"*";q=3;w=10800')
  expect(refused.headers.get('retry-after')).toMatch(/^3(600|59\d)$/)

  save(service.file, { limits: { '*': '9, 1/h' } })
  await eventually(async () => expect(await levelOf(service.url, 'acme')).toMatchObject({ capacity: 9 }))
  expect((await fill(service.url, 'acme%2F1', { amount: 6 })).status).toBe(200)
  await fetch(`${service.url}/v1/limits/acme`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: '{"limit":"20, 1/h"}',
  })
  expect((await fill(service.url, 'acme%2F1', { amount: 11 })).body).toMatchObject({ pattern: 'acme' })

  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  expect(metrics).toContain('velvet_rope_meter_fills_total{pattern="*",outcome="accepted"} 4')
  expect(metrics).toContain('velvet_rope_meter_fills_total{pattern="*",outcome="full"} 17')
  expect(metrics).toContain('velvet_rope_meter_fills_total{pattern="acme",outcome="accepted"} 1')
  service.signal('SIGTERM')
  expect((await service.ended).code).toBe(0)
})

test('on Redis two services share one level', async () => {
  const config = { redis: redisAddress(), prefix: uniquePrefix(), limits: { '*': '10, 1/h' } }
  const [one, other] = await Promise.all([serve(config), serve(config)])
  const urls = Array.from({ length: 50 }, (_, index) => (index % 2 ? one.url : other.url))
  const answers = await Promise.all(urls.map((url) => fill(url, 'k')))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(40)
  for (const { url } of [one, other]) {
    expect(Math.round((await levelOf(url, 'k')).level)).toBe(10)
  }
  expect((await fetch(`${one.url}/v1/meters/k`, { method: 'DELETE' })).status).toBe(204)
  expect((await fill(other.url, 'k', { amount: 10 })).status).toBe(200)
  for (const service of [one, other]) {
    service.signal('SIGTERM')
    expect((await service.ended).code).toBe(0)
  }
})

test('while Redis is away a fill gets 503, and the service still ends', async () => {
  const redis = await startRedis({ port: 'free' })
  const service = await serve({ redis: redis.url, drainMs: 100, limits: { '*': '10, 1/h' } })
  expect((await fill(service.url, 'k')).status).toBe(200)
  await redis.pause()
  const refused = await fill(service.url, 'k')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect(JSON.stringify(refused.body)).not.toMatch(/redis|econn|127\.0\.0\.1|timed out/i)
  await redis.resume()
  await eventually(async () => expect((await fill(service.url, 'k')).status).toBe(200))
  await redis.kill()
  service.signal('SIGTERM')
  expect((await service.ended).code).toBe(0)
})

test('the rate of a token is counted before its body is read, and follows the file', async () => {
  const token = (limit?: string) => ({
    name: 'shop',
    sha256: createHash('sha256').update('secret').digest('hex'),
    scopes: ['enqueue', 'read'],
    ...(limit !== undefined && { limit }),
  })
  const config = (limit?: string) => ({ limits: { '*': '100, 1/h' }, tokens: [token(limit)] })
  const headers = { authorization: 'Bearer secret' }
  const service = await serve(config('2, 1/h'))
  const ask = () => fill(service.url, 'k', { amount: 1 }, headers)
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
  const refused = await ask()
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toMatch(/^3(600|59\d)$/)
  expect(refused.body).toMatchObject({ type: 'urn:velvet-rope:problem:token-rate' })

  save(service.file, config('3, 1/h'))
  await service.said('"message":"configuration changed"')
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
  save(service.file, config())
  await eventually(async () => expect((await ask()).status).toBe(200))
})

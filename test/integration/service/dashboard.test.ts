import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { openDashboard } from '../../../src/http.ts'
import { redisAddress, uniquePrefix } from '../../support/redis-server.ts'
import { EventReader } from '../../unit/http/event-reader.ts'
import { post, serve } from './running.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

const token = (name: string, prefixes: string[] = []) => ({
  name,
  sha256: createHash('sha256').update(`${name}-secret`).digest('hex'),
  scopes: ['enqueue', 'read'],
  prefixes,
})
const bearer = (name: string) => ({ authorization: `Bearer ${name}-secret` })

async function listen(url: string, query: string, name: string): Promise<EventReader> {
  const response = await fetch(`${url}/v1/events?${query}`, { headers: bearer(name) })
  expect(response.status).toBe(200)
  return new EventReader(response)
}

test('a service has the page at /, or explains how to build it', async () => {
  const service = await serve({ limits: { '*': '5, 1/s' } })
  const page = openDashboard()
  const answer = await fetch(service.url, { headers: BROWSER })
  expect(answer.status).toBe(200)
  if (page === undefined) {
    await service.said('npm run build:dashboard')
    expect(await answer.json()).toMatchObject({ name: 'velvet-rope' })
  } else {
    expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(await answer.text()).toBe(Buffer.from(page.get('/')!.body).toString())
    for (const [path, { contentType }] of page) {
      const file = await fetch(new URL(path, service.url), { headers: { accept: 'text/html' } })
      expect([file.status, file.headers.get('content-type')]).toEqual([200, contentType])
      await file.body?.cancel()
    }
  }
  expect(await (await fetch(service.url)).json()).toMatchObject({ name: 'velvet-rope' })
  expect((await fetch(`${service.url}/assets/nothing.js`)).status).toBe(404)
  const { version } = (await (await fetch(`${service.url}/v1/session`)).json()) as { version: string }
  expect(version).toMatch(/^\d+\.\d+\.\d+/)
})

test.each([
  ['memory', 'memory'],
  ['redis', /^(none|everysec|always)$/],
])('a client with a token sees what that token may see, as it happens: %s', async (backend, durability) => {
  const service = await serve({
    limits: { '*': '5, 1 per 10 minutes' },
    tokens: [token('all'), token('shop', ['stripe'])],
    http: { snapshotMs: 50 },
    ...(backend === 'redis' && { redis: redisAddress(), prefix: uniquePrefix() }),
  })
  const session = async (name: string) =>
    (await fetch(`${service.url}/v1/session`, { headers: bearer(name) })).json()
  expect(await session('shop')).toMatchObject({
    name: 'shop',
    scopes: ['enqueue', 'read'],
    prefixes: ['stripe'],
    backend,
    shaper: 'main',
    durability: expect.stringMatching(durability),
  })
  expect((await fetch(`${service.url}/v1/session`)).status).toBe(401)
  const refused = await fetch(`${service.url}/v1/events?types=buckets&prefix=paypal`, {
    headers: bearer('shop'),
  })
  expect([refused.status, refused.headers.get('content-type')]).toEqual([403, 'application/problem+json'])

  const shop = await listen(
    service.url,
    'types=verdict,buckets,bucket,rules&key=stripe/a&minFill=0.3',
    'shop',
  )
  expect((await shop.nextOf('buckets')).data).toMatchObject({ buckets: [], total: 0 })
  expect((await shop.nextOf('bucket')).data).toMatchObject({ bucket: null })
  expect((await shop.nextOf('rules')).data).toEqual({ version: expect.any(Number) })
  for (const key of ['paypal/a', 'stripe/b', 'stripe/a', 'stripe/a']) {
    await post(`${service.url}/v1/buckets/${encodeURIComponent(key)}/jobs`, { data: {} }, bearer('all'))
  }
  const verdicts = [await shop.nextOf('verdict'), await shop.nextOf('verdict')]
  expect(verdicts.map(({ data }) => data?.['key'])).toEqual(['stripe/a', 'stripe/a'])
  const keysShown = async () => {
    const { data } = await shop.nextOf('buckets')
    const { buckets } = data as { buckets: { key: string }[] }
    return buckets.map(({ key }) => key)
  }
  let keys = await keysShown()
  while (keys.length === 0) keys = await keysShown()
  expect(keys).toEqual(['stripe/a'])
  let { data } = await shop.nextOf('bucket')
  while (data?.['bucket'] === null) data = (await shop.nextOf('bucket')).data
  expect(data?.['bucket']).toMatchObject({ key: 'stripe/a' })

  const all = await listen(service.url, 'types=snapshot', 'all')
  expect((await all.nextOf('snapshot')).data).toMatchObject({ buckets: 3 })
})

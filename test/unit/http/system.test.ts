import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { type Answered, createHttpApp } from '../../../src/http.ts'
import { Shaper } from '../../../src/index.ts'
import { beforeTimer } from '../../support/patience.ts'
import { Api, expectProblem, sha256 } from './api.ts'

describe('/healthz', () => {
  test('says that the process is alive, whatever else is wrong', async () => {
    const api = new Api(undefined, {
      isDraining: () => true,
      readiness: () => Promise.reject(new Error('no')),
      lagMs: () => 9_999,
      heap: () => ({ used: 1, limit: 1 }),
    })
    expect(await api.get('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } })
  })
})

describe('/readyz', () => {
  test('says that jobs are accepted', async () => {
    expect(await new Api().get('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } })
  })

  test('says 503 while the store cannot be reached, and not why', async () => {
    const api = new Api(undefined, { readiness: () => Promise.reject(new Error('redis://10.0.0.1')) })
    const answer = await api.get('/readyz')
    expectProblem(answer, 503, 'temporary-reduced-capacity')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(JSON.stringify(answer.body)).not.toContain('10.0.0.1')
  })

  test('says 503 while the service goes down', async () => {
    const api = new Api(undefined, { isDraining: () => true })
    expectProblem(await api.get('/readyz'), 503, 'temporary-reduced-capacity')
  })

  test('says 503 after two seconds when the store does not answer', async () => {
    const api = new Api(undefined, { readiness: () => new Promise(() => undefined) })
    expectProblem(await beforeTimer(2_500, api.get('/readyz')), 503, 'temporary-reduced-capacity')
  })
})

describe('/metrics', () => {
  test('answers the text of the collector, as it is', async () => {
    const contentType = 'text/plain; version=0.0.4; charset=utf-8'
    const api = new Api(undefined, { metrics: async () => ({ contentType, text: 'up 1\n' }) })
    const { status, headers, body } = await api.get('/metrics')
    expect([status, headers.get('content-type'), body]).toEqual([200, contentType, 'up 1\n'])
  })

  test('are absent without a collector', async () => {
    expectProblem(await new Api().get('/metrics'), 404, 'not-found')
  })

  test('are answered under overload, when they are needed most', async () => {
    const metrics = async () => ({ contentType: 'text/plain', text: 'up 1\n' })
    expect((await new Api(undefined, { metrics, lagMs: () => 9_999 }).get('/metrics')).status).toBe(200)
  })
})

describe('/', () => {
  test('says where to go, and every link leads somewhere', async () => {
    const api = new Api(undefined, { metrics: async () => ({ contentType: 'text/plain', text: '' }) })
    const { body } = await api.get('/')
    const links = Object.values(body['links'] as Record<string, string>)
    expect(links).toContain('/openapi.json')
    for (const link of links) {
      const response = await api.raw('GET', link)
      await response.body?.cancel()
      expect(response.status, link).toBe(200)
    }
  })
})

describe('the operator of the service', () => {
  test('gets a report of every answer, by its route and nothing that a producer chose', async () => {
    const answers: Answered[] = []
    const api = new Api(undefined, { onRequest: (answered) => void answers.push(answered) })
    await api.enqueue('acme', { data: 'secret' })
    await api.get('/acme?secret=1')
    await api.call('PATCH', '/v1/jobs/acme')
    expect(answers).toEqual(
      [
        { method: 'POST', route: '/v1/buckets/{key}/jobs', status: 202 },
        { method: 'GET', route: 'unknown', status: 404 },
        { method: 'PATCH', route: 'unknown', status: 405 },
      ].map((answered) => ({ ...answered, ms: expect.any(Number), requestId: expect.any(String) })),
    )
  })

  test.each([
    { tokens: [{ name: 'a b', sha256: sha256('t'), scopes: ['read'], prefixes: [] }] },
    { tokens: [{ name: 'a', sha256: 'short', scopes: ['read'], prefixes: [] }] },
    { tokens: [{ name: 'a', sha256: sha256('t'), scopes: [], prefixes: [] }] },
    { tokens: [{ name: 'a', sha256: sha256('t'), scopes: ['write'], prefixes: [] }] },
    { tokens: [{ name: 'a', sha256: sha256('t'), scopes: ['read'], prefixes: ['*'] }] },
    { tokens: [{ name: 'a', sha256: sha256('t'), scopes: ['read'], prefixes: [''] }] },
    { tokens: [{ name: 'a', token: 'plain', scopes: ['read'], prefixes: [] }] },
    { tokens: () => [{ name: 'a' }] },
    { tokens: () => undefined },
    { tokens: 'secret' },
    { corsOrigins: ['*'] },
    { corsOrigins: ['https://a.example/'] },
    { bodyLimitBytes: 0 },
    { maxBatch: 0 },
    { overload: { maxLag: 1 } },
    { onError: 'log' },
    { token: [] },
  ])('gets an error immediately for a wrong option: %j', (options) => {
    // As it would come from a file or from JavaScript.
    const make = () => new Api(undefined, options as object)
    expect(make).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining('createHttpApp') }),
    )
  })

  test('may fail to record an answer, which does not change', async () => {
    const fault = new Error('the disk is full')
    const errors: unknown[] = []
    const api = new Api(undefined, {
      onError: (error) => void errors.push(error),
      onRequest: () => {
        throw fault
      },
    })
    expect((await api.enqueue('k')).status).toBe(202)
    expect(errors).toEqual([fault])
  })

  test('may mount the app below a path of their own', async () => {
    const api = new Api()
    const host = new Hono().mount('/shaper', api.app.fetch)
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"data":1}' }
    expect((await host.request('/shaper/v1/buckets/a%2Fb/jobs', init)).status).toBe(202)
    expect((await api.shaper.inspect('a/b'))?.jobs).toBe(1)
    expect((await host.request('/shaper/healthz')).status).toBe(200)
  })
})

test('a shaper on real time needs no clock from here', async () => {
  const shaper = new Shaper('real', { limits: { '*': '5, 10/s' } })
  const app = createHttpApp(shaper)
  expect((await app.request('/readyz')).status).toBe(200)
  await shaper.close()
})

test('mounted in a host that passes its own server along, the app answers as ever', async () => {
  const api = new Api()
  const server = { requestIP: () => ({ address: '127.0.0.1' }) }
  const { fetch } = api.app
  const answer = await fetch(new Request('http://127.0.0.1/v1/buckets'), { server } as object)
  expect(answer.status).toBe(200)
})

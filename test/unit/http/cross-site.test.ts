import { describe, expect, test } from 'vitest'
import { Api, expectProblem } from './api.ts'

describe('other sites', () => {
  const refused: readonly Record<string, string>[] = [
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'nonsense' },
    { Origin: 'https://evil.example', Host: 'localhost:7077' },
    { Origin: 'null', Host: 'localhost:7077' },
    { Origin: 'http://localhost:9999', Host: 'localhost:7077' },
  ]

  test.each(refused)('may not change anything: %j', async (headers) => {
    const api = new Api()
    expectProblem(await api.enqueue('k', { data: 1 }, { headers }), 403, 'cross-site')
    expectProblem(await api.call('DELETE', '/v1/limits/*', { headers }), 403, 'cross-site')
    expectProblem(await api.call('POST', '/v1/buckets/k/pause', { headers }), 403, 'cross-site')
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test.each(refused)('may neither open a stream nor read: %j', async (headers) => {
    const api = new Api()
    expectProblem(await api.get('/v1/events', { headers }), 403, 'cross-site')
    expectProblem(await api.get('/v1/buckets', { headers }), 403, 'cross-site')
    const followed = { ...headers, 'Sec-Fetch-Mode': 'navigate' }
    expect((await api.get('/v1/buckets', { headers: followed })).status).toBe(200)
    expectProblem(await api.enqueue('k', { data: 1 }, { headers: followed }), 403, 'cross-site')
  })

  const trusted: readonly Record<string, string>[] = [
    {},
    { 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
    { Origin: 'http://localhost:7077', Host: 'localhost:7077' },
  ]

  test.each(trusted)('are not these: %j', async (headers) => {
    expect((await new Api().enqueue('k', { data: 1 }, { headers })).status).toBe(202)
  })

  test('get no answer that their pages could read, unless configured', async () => {
    const headers = { Origin: 'https://ops.example.com' }
    const closed = await new Api().get('/v1/limits', { headers })
    expect([...closed.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    const open = new Api(undefined, { corsOrigins: ['https://ops.example.com'] })
    const preflight = await open.call('OPTIONS', '/v1/jobs', {
      headers: {
        ...headers,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://ops.example.com')
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('idempotency-key')
    const answer = await open.enqueue(
      'k',
      { data: 1 },
      { headers: { ...headers, 'Sec-Fetch-Site': 'cross-site' } },
    )
    expect(answer.status).toBe(202)
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://ops.example.com')
    expect(answer.headers.get('access-control-expose-headers')).toContain('RateLimit')
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    const stranger = await open.get('/v1/limits', {
      headers: { Origin: 'https://ops.example.com.evil.example' },
    })
    expect(stranger.headers.get('access-control-allow-origin')).toBeNull()
    expect(answer.headers.get('vary')).toContain('Origin')
  })
})

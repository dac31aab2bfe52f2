import { describe, expect, test } from 'vitest'
import { BackendUnavailableError } from '../../../src/index.ts'
import { type Answer, Api, type Call, expectProblem, sha256 } from './api.ts'

/** Keys that could do harm in a header. */
const ODD_KEYS = [
  'plain',
  'a"b',
  'a\\b',
  '"; r=999',
  'a, b',
  'a;q=1',
  'a b',
  "it's",
  'caf\u00e9',
  '\u65e5\u672c',
  '\u{1f3ab}',
  '\u202egnp.exe',
  '\u2028\u2029',
  '\ufeffbom',
  '%0d%0aSet-Cookie: x=1',
  '<script>alert(1)</script>',
  "'; DROP TABLE jobs; --",
  '{{x}}',
  '\u00ff\u0100',
]
const NEVER_KEYS = ['a\r\nSet-Cookie: x=1', 'a\nb', 'a\rb', 'a\u0000b', 'a\u0085b', 'a\u001b[31m', 'a\u007f']

/** What a header of HTTP may hold, and what a structured field may. */
function expectClean({ headers }: Answer): void {
  for (const [name, value] of headers) {
    expect(value, name).toMatch(/^[\x20-\x7e]*$/)
  }
  expect(headers.get('set-cookie')).toBeNull()
}

describe.each(ODD_KEYS)('the key %j', (key) => {
  test('does no harm in the headers of any answer', async () => {
    const api = new Api({ '*': '9, 1/s', [key]: '2, 1/s' })
    const path = encodeURIComponent(key)
    const answers = [
      await api.enqueue(path),
      await api.enqueue(path),
      await api.enqueue(path),
      await api.enqueue(path, { data: 1, cost: 9 }),
      await api.enqueue(path, { data: 1, deadlineMs: 1 }),
      await api.get(`/v1/buckets/${path}`),
      await api.get(`/v1/buckets/${path}/forecast`),
      await api.get(`/v1/limits/${path}`),
      await api.call('DELETE', `/v1/limits/${path}`),
      await api.call('DELETE', `/v1/limits/${path}`),
      await api.post('/v1/jobs', { jobs: [{ key, data: 1 }] }),
      await api.post(`/v1/meters/${path}/fill`, { amount: 9 }),
      await api.post(`/v1/meters/${path}/fill`, { amount: 9 }),
      await api.post(`/v1/meters/${path}/fill`, { amount: 10 }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([
      202, 202, 429, 422, 429, 200, 200, 200, 204, 404, 202, 200, 429, 422,
    ])
    for (const answer of answers) expectClean(answer)
    expect(answers[5]!.body['key']).toBe(key)
    const policy = answers[0]!.headers.get('ratelimit-policy')
    // A String of RFC 9651 and its two parameters, whatever the key is.
    expect(policy).toMatch(/^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*";q=2;w=2$/)
    expect(answers[2]!.headers.get('ratelimit')).toMatch(/^"(?:[^"\\]|\\["\\])*";r=0;t=1$/)
  })
})

describe.each(NEVER_KEYS)('the key %j', (key) => {
  test('is refused in a path and in a body, without being repeated as it is', async () => {
    const api = new Api()
    for (const answer of [
      await api.enqueue(encodeURIComponent(key)),
      await api.post('/v1/jobs', { jobs: [{ key, data: 1 }] }),
      await api.call('PUT', `/v1/limits/${encodeURIComponent(key)}`, { body: { limit: '1, 1/s' } }),
      await api.get(`/v1/buckets/${encodeURIComponent(key)}`),
      await api.post(`/v1/meters/${encodeURIComponent(key)}/fill`, {}),
    ]) {
      expectProblem(answer, 422, 'invalid')
      expectClean(answer)
    }
    expect((await api.shaper.audit()).admitted).toBe(0)
  })
})

describe('the id of a request', () => {
  test.each(['abc', 'A.b_c-1', 'x'.repeat(64)])('is that of the client, if sane: %s', async (id) => {
    const { headers } = await new Api().get('/healthz', { headers: { 'X-Request-Id': id } })
    expect(headers.get('x-request-id')).toBe(id)
  })

  test.each(['', 'a b', 'x'.repeat(65), '<b>', 'a"b', 'a,b', '\u00e9', '{}'])(
    'else a new one: %j',
    async (id) => {
      const answer = await new Api().get('/nothing', { headers: { 'X-Request-Id': id } })
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      expectProblem(answer, 404, 'not-found')
    },
  )
})

/** One request for each kind of answer. */
const KINDS: readonly { status: number; method: string; path: string; call?: Call }[] = [
  { status: 200, method: 'GET', path: '/' },
  { status: 200, method: 'GET', path: '/healthz' },
  { status: 200, method: 'GET', path: '/openapi.json' },
  { status: 200, method: 'GET', path: '/v1/limits', call: { token: 't' } },
  { status: 202, method: 'POST', path: '/v1/buckets/a/jobs', call: { token: 't', body: { data: 1 } } },
  { status: 204, method: 'POST', path: '/v1/buckets/a/pause', call: { token: 't' } },
  { status: 400, method: 'POST', path: '/v1/buckets/a/jobs', call: { token: 't', raw: '{' } },
  { status: 401, method: 'GET', path: '/v1/limits' },
  {
    status: 403,
    method: 'POST',
    path: '/v1/jobs',
    call: { token: 't', headers: { 'Sec-Fetch-Site': 'cross-site' }, body: {} },
  },
  { status: 403, method: 'GET', path: '/v1/buckets/b', call: { token: 'few' } },
  { status: 404, method: 'GET', path: '/nothing' },
  { status: 404, method: 'GET', path: '/v1/jobs/unknown', call: { token: 't' } },
  { status: 405, method: 'PUT', path: '/healthz' },
  {
    status: 413,
    method: 'POST',
    path: '/v1/buckets/full/jobs',
    call: { token: 't', raw: 'x'.repeat(70_000) },
  },
  {
    status: 415,
    method: 'POST',
    path: '/v1/jobs',
    call: { token: 't', raw: 'x', headers: { 'Content-Type': 'text/plain' } },
  },
  { status: 422, method: 'POST', path: '/v1/jobs', call: { token: 't', body: {} } },
  { status: 429, method: 'POST', path: '/v1/buckets/full/jobs', call: { token: 't', body: { data: 1 } } },
  { status: 500, method: 'GET', path: '/metrics', call: { token: 't' } },
  { status: 503, method: 'GET', path: '/readyz' },
]

describe('every answer', () => {
  test.each(KINDS)('$status ($method $path) has an id and the headers that protect', async (kind) => {
    const { status, method, path, call } = kind
    const tokens = [
      { name: 't', sha256: sha256('t'), scopes: ['admin'] as const, prefixes: [] },
      { name: 'few', sha256: sha256('few'), scopes: ['admin'] as const, prefixes: ['a'] },
    ]
    const api = new Api(
      { '*': '5, 1/s', full: '1, 1/s' },
      {
        tokens,
        metrics: () => Promise.reject(new Error('no')),
        readiness: () => Promise.reject(new Error('no')),
      },
    )
    await api.shaper.enqueue('full', 1)
    const answer = await api.call(method, path, call)
    expect(answer.status).toBe(status)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(answer.headers.get('x-powered-by')).toBeNull()
    expectClean(answer)
    if (status === 503) expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  })
})

describe('an answer to the unexpected', () => {
  const SECRETS = /secret|127\.0\.0\.1|:6379|EVALSHA|\.lua|at Object|at async|node_modules|src\/|acme/

  test.each([
    [500, 'internal', new Error('ERR user_script:12: redis://:secret@127.0.0.1:6379 EVALSHA admit.lua acme')],
    [500, 'internal', Object.assign(new TypeError('secret'), { code: 'ERR_X', command: { args: ['acme'] } })],
    [500, 'internal', Object.assign(new Error('secret'), { name: 'ReplyError', code: 'WRONGTYPE' })],
    [
      503,
      'temporary-reduced-capacity',
      new BackendUnavailableError('redis://:secret@127.0.0.1:6379 is away', { cause: new Error('EVALSHA') }),
    ],
  ])('says %i %s and nothing of itself', async (status, name, error) => {
    const reported: unknown[] = []
    const api = new Api(undefined, { onError: (...args) => void reported.push(args) })
    const fail = () => Promise.reject(error)
    const verbs = { enqueue: fail, job: fail, inspect: fail, buckets: fail, pause: fail, forecast: fail }
    Object.assign(api.shaper, verbs)
    Object.assign(api.meter, { fill: fail, level: fail, drain: fail })
    const calls = [
      await api.enqueue('acme', { data: 'secret' }),
      await api.get('/v1/jobs/acme'),
      await api.get('/v1/buckets/acme'),
      await api.get('/v1/buckets'),
      await api.get('/v1/buckets/acme/forecast'),
      await api.call('POST', '/v1/buckets/acme/pause'),
      await api.post('/v1/jobs', { jobs: [{ key: 'acme', data: 'secret' }] }),
      await api.post('/v1/meters/acme/fill', {}),
      await api.get('/v1/meters/acme'),
      await api.call('DELETE', '/v1/meters/acme'),
    ]
    for (const answer of calls) {
      expectProblem(answer, status, name)
      expect(JSON.stringify([answer.body, ...answer.headers])).not.toMatch(SECRETS)
    }
    // The operator gets the error, with the id that the caller has.
    const ids = calls.map(({ headers }) => headers.get('x-request-id'))
    expect(reported).toEqual(status === 500 ? ids.map((id) => [error, id]) : [])
  })
})

import { describe, expect, test } from 'vitest'
import type { AccessToken } from '../../../src/http.ts'
import { Api, expectProblem, sha256 } from './api.ts'

type Scope = AccessToken['scopes'][number]
const SCOPES: readonly Scope[] = ['enqueue', 'read', 'admin']

interface Operation {
  readonly method: string
  readonly path: string
  /** Absent: it is open to all. */
  readonly scope?: Scope
  readonly body?: object
  /** When it may. */
  readonly status: number
}

/** Every operation of the API, and the scope that it takes. */
const OPERATIONS: readonly Operation[] = [
  { method: 'POST', path: '/v1/buckets/{key}/jobs', scope: 'enqueue', body: { data: 1 }, status: 202 },
  {
    method: 'POST',
    path: '/v1/jobs',
    scope: 'enqueue',
    body: { jobs: [{ key: '{key}', data: 1 }] },
    status: 202,
  },
  { method: 'GET', path: '/v1/jobs/{id}', scope: 'read', status: 200 },
  { method: 'GET', path: '/v1/jobs/{id}/explanation', scope: 'read', status: 200 },
  {
    method: 'POST',
    path: '/v1/jobs/{id}/settle',
    scope: 'enqueue',
    body: { costs: { tokens: 1 } },
    status: 200,
  },
  { method: 'DELETE', path: '/v1/jobs/{id}', scope: 'enqueue', status: 204 },
  { method: 'GET', path: '/v1/buckets', scope: 'read', status: 200 },
  { method: 'GET', path: '/v1/families', scope: 'read', status: 200 },
  { method: 'GET', path: '/v1/buckets/{key}', scope: 'read', status: 200 },
  { method: 'GET', path: '/v1/buckets/{key}/forecast', scope: 'read', status: 200 },
  { method: 'GET', path: '/v1/buckets/{key}/line', scope: 'read', status: 200 },
  { method: 'GET', path: '/v1/buckets/{key}/recent', scope: 'read', status: 200 },
  { method: 'POST', path: '/v1/buckets/{key}/freeze', scope: 'admin', body: { forMs: 1 }, status: 204 },
  { method: 'DELETE', path: '/v1/buckets/{key}/freeze', scope: 'admin', status: 204 },
  { method: 'POST', path: '/v1/buckets/{key}/pause', scope: 'admin', status: 204 },
  { method: 'POST', path: '/v1/buckets/{key}/resume', scope: 'admin', status: 204 },
  { method: 'POST', path: '/v1/meters/{key}/fill', scope: 'enqueue', body: { amount: 1 }, status: 200 },
  { method: 'GET', path: '/v1/meters/{key}', scope: 'read', status: 200 },
  { method: 'DELETE', path: '/v1/meters/{key}', scope: 'admin', status: 204 },
  { method: 'GET', path: '/v1/limits', scope: 'read', status: 200 },
  { method: 'GET', path: '/v1/limits/{pattern}', scope: 'read', status: 200 },
  { method: 'PUT', path: '/v1/limits/{pattern}', scope: 'admin', body: { limit: '9, 1/s' }, status: 200 },
  { method: 'DELETE', path: '/v1/limits/{pattern}', scope: 'admin', status: 204 },
  { method: 'GET', path: '/v1/events', scope: 'read', status: 200 },
  { method: 'GET', path: '/v1/session', scope: 'read', status: 200 },
  { method: 'GET', path: '/metrics', scope: 'read', status: 200 },
  { method: 'GET', path: '/healthz', status: 200 },
  { method: 'GET', path: '/readyz', status: 200 },
  { method: 'GET', path: '/openapi.json', status: 200 },
  { method: 'GET', path: '/', status: 200 },
]

/** Tokens are named like their text. */
function tokenOf(name: string, scopes: readonly Scope[], prefixes: readonly string[] = []): AccessToken {
  return { name, sha256: sha256(name), scopes, prefixes }
}

const TOKENS = [
  ...SCOPES.map((scope) => tokenOf(`all-${scope}`, [scope])),
  ...SCOPES.map((scope) => tokenOf(`a-${scope}`, [scope], ['tenant-a'])),
  tokenOf('two', ['read', 'enqueue'], ['tenant-a', 'tenant-b/x']),
]

/** An API with tokens, and a waiting job, two units and a freeze in each of these buckets. */
async function guarded(...keys: string[]): Promise<Api> {
  const metrics = async () => ({ contentType: 'text/plain', text: 'up 1\n' })
  const api = new Api({ '*': '9, 1/s' }, { tokens: TOKENS, metrics })
  for (const key of keys) {
    await api.shaper.limits.set(key, '9, 1/s')
    await api.shaper.enqueue(key, 'secret', { id: idOf(key) })
    await api.meter.fill(key, 2)
    await api.shaper.freeze(key, 60_000)
  }
  return api
}

/** Of the one job of a bucket. */
function idOf(key: string): string {
  return key.replace(/[^\w-]/g, '-')
}

function isOfOneKey({ path }: Operation): boolean {
  return path.includes('{') || path === '/v1/jobs'
}

async function ask(api: Api, { method, path, body }: Operation, key: string, token?: string) {
  const url = path.replace('{id}', idOf(key)).replace(/\{(key|pattern)\}/, encodeURIComponent(key))
  const raw = body && JSON.stringify(body).replace('{key}', key)
  const response = await api.raw(method, url, { ...(raw && { raw }), ...(token !== undefined && { token }) })
  // A stream has no end.
  if (path === '/v1/events') await response.body?.cancel()
  return response
}

test('the table knows every operation', async () => {
  const { body } = await new Api().get('/openapi.json')
  const described = Object.entries(body['paths'] as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(OPERATIONS.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(described.sort())
})

describe.each(OPERATIONS)('$method $path', (operation) => {
  const { scope, status } = operation

  test(scope === undefined ? 'needs no token' : 'needs a token', async () => {
    const api = await guarded('k')
    const anonymous = await ask(api, operation, 'k')
    const stranger = await ask(api, operation, 'k', 'stranger')
    const realm = 'Bearer realm="velvet-rope"'
    const expected =
      scope === undefined ? [status, null, null] : [401, realm, `${realm}, error="invalid_token"`]
    expect([
      anonymous.status,
      anonymous.headers.get('www-authenticate'),
      stranger.headers.get('www-authenticate'),
    ]).toEqual(expected)
    expect(stranger.status).toBe(expected[0])
  })

  test.each(SCOPES)('with the scope %s', async (given) => {
    const isEnough = scope === undefined || given === scope || given === 'admin'
    const wants = `Bearer realm="velvet-rope", error="insufficient_scope", scope="${scope}"`
    for (const token of [`all-${given}`, `a-${given}`]) {
      const answer = await ask(await guarded('tenant-a'), operation, 'tenant-a', token)
      // Metrics cover all keys together.
      const isOfOthers = operation.path === '/metrics' && token.startsWith('a-')
      expect(answer.status, token).toBe(isEnough && !isOfOthers ? status : 403)
      expect(answer.headers.get('www-authenticate')).toBe(isEnough ? null : wants)
    }
  })
})

describe.each(OPERATIONS.filter(isOfOneKey))('$method $path', (operation) => {
  const isOfJob = operation.path.includes('{id}')

  test.each([
    'tenant-ab',
    'tenant-b',
    'tenant',
    'Tenant-a',
    'x/tenant-a',
    'tenant-a\u0301',
    'tenant-a ',
    ' tenant-a',
  ])('keeps a token for tenant-a away from "%s"', async (key) => {
    const api = await guarded(key)
    const state = async () => [
      await api.shaper.audit(),
      api.shaper.limits.list(),
      await api.shaper.inspect(key),
      await api.meter.level(key),
    ]
    const before = await state()
    const answer = await ask(api, operation, key, 'a-admin')
    // A job of others is not even known to be one.
    expect(answer.status).toBe(isOfJob ? 404 : 403)
    expect(await state()).toEqual(before)
  })

  test.each(['tenant-a', 'tenant-a/x', 'tenant-a/x/y', 'tenant-a//x', 'tenant-a/..b/c', 'tenant-a/%2e%2e/b'])(
    'lets a token for tenant-a reach %s, a key of its own',
    async (key) => {
      const answer = await ask(await guarded(key), operation, key, 'a-admin')
      expect(answer.status).toBe(operation.status)
    },
  )
})

describe('a token for some keys', () => {
  test('sees only the buckets and rules below its prefixes', async () => {
    const api = await guarded('tenant-a', 'tenant-a/x', 'tenant-ab', 'tenant-b', 'tenant-b/x', 'tenant-b/xy')
    const keysOf = async (query: string, token: string) => {
      const { status, body } = await api.get(`/v1/buckets${query}`, { token })
      return status === 200 ? (body['buckets'] as { key: string }[]).map(({ key }) => key) : status
    }
    expect(await keysOf('?sort=key', 'a-read')).toEqual(['tenant-a', 'tenant-a/x'])
    expect(await keysOf('?prefix=tenant-a/', 'a-read')).toEqual(['tenant-a/x'])
    expect(await keysOf('?prefix=tenant-ab', 'a-read')).toBe(403)
    expect(await keysOf('?prefix=tenant-', 'a-read')).toBe(403)
    expect(await keysOf('?prefix=t', 'a-read')).toBe(403)
    expect(await keysOf('', 'two')).toBe(403)
    expect(await keysOf('?prefix=tenant-b/x', 'two')).toEqual(['tenant-b/x'])
    expect(await keysOf('?prefix=tenant-b', 'two')).toBe(403)
    expect(await keysOf('?under=tenant-a&sort=key', 'a-read')).toEqual(['tenant-a', 'tenant-a/x'])
    expect(await keysOf('?under=tenant-a/x', 'a-read')).toEqual(['tenant-a/x'])
    expect(await keysOf('?under=tenant-ab', 'a-read')).toBe(403)
    expect(await keysOf('?under=tenant-a&prefix=tenant-b', 'a-read')).toEqual([])
    expect(await keysOf('?under=tenant-b', 'two')).toBe(403)
    expect(await keysOf('?sort=key', 'all-read')).toHaveLength(6)
    const { body } = await api.get('/v1/limits', { token: 'two' })
    const patterns = (body['limits'] as { pattern: string }[]).map(({ pattern }) => pattern)
    expect(patterns).toEqual(['tenant-a', 'tenant-a/x', 'tenant-b/x'])
  })

  test('pages through its buckets without losing or repeating one', async () => {
    const api = await guarded('tenant-a/1', 'tenant-a', 'tenant-a/2', 'tenant-ab', 'tenant-a/3')
    for (const sort of ['key', '-key', '-fill', 'oldestWaitMs']) {
      const seen: string[] = []
      let cursor = ''
      do {
        const query = `?sort=${sort}&limit=1${cursor && `&cursor=${cursor}`}`
        const { body } = await api.get(`/v1/buckets${query}`, { token: 'a-read' })
        seen.push(...(body['buckets'] as { key: string }[]).map(({ key }) => key))
        expect(body['total']).toBe(4)
        cursor = String(body['cursor'] ?? '')
      } while (cursor !== '')
      expect(seen.sort()).toEqual(['tenant-a', 'tenant-a/1', 'tenant-a/2', 'tenant-a/3'])
    }
  })

  test('cannot touch the rules of all', async () => {
    const api = await guarded('tenant-a')
    for (const pattern of ['*', '*/x', 'tenant-*']) {
      const call = { token: 'a-admin', body: { limit: '1, 1/s' } }
      expectProblem(await api.call('PUT', `/v1/limits/${pattern}`, call), 403, 'forbidden')
    }
    const own = { token: 'a-admin', body: { limit: '1, 1/s' } }
    expect((await api.call('PUT', '/v1/limits/tenant-a/*', own)).status).toBe(200)
  })

  test('admits nothing of a batch with a key of others', async () => {
    const api = await guarded()
    const jobs = [
      { key: 'tenant-a', data: 1 },
      { key: 'tenant-ab', data: 1 },
    ]
    const answer = await api.post('/v1/jobs', { jobs }, { token: 'a-enqueue' })
    expectProblem(answer, 403, 'forbidden', { errors: [{ pointer: '#/jobs/1/key' }] })
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('shares no Idempotency-Key with other holders', async () => {
    const api = await guarded()
    const headers = { 'Idempotency-Key': 'same' }
    const ours = await api.enqueue('tenant-a', { data: 1 }, { headers, token: 'a-enqueue' })
    const theirs = await api.enqueue('tenant-a', { data: 1 }, { headers, token: 'all-enqueue' })
    expect(theirs.body['id']).not.toBe(ours.body['id'])
    expect(theirs.headers.get('idempotent-replayed')).toBeNull()
  })

  test('is shown the data of a job only with the scope admin', async () => {
    const api = await guarded('tenant-a')
    expect((await api.get('/v1/jobs/tenant-a', { token: 'a-admin' })).body['data']).toBe('secret')
    expect((await api.get('/v1/jobs/tenant-a', { token: 'a-read' })).body).not.toHaveProperty('data')
  })
})

describe('a token', () => {
  test.each([
    ['Bearer  all-read', 200],
    ['bearer all-read', 200],
    ['BEARER all-read ', 200],
    ['Basic all-read', 401],
    ['all-read', 401],
    ['Bearer', 401],
    ['Bearer ', 401],
    ['Bearer all-read all-read', 401],
    ['Bearer all-read,Bearer all-read', 401],
    ['Bearer ALL-READ', 401],
    ['Bearer all-rea', 401],
    ['Bearer all-reads', 401],
    [`Bearer ${sha256('all-read')}`, 401],
    ['Bearer \u00e9', 401],
  ])('in the header %j is answered with %i', async (authorization, status) => {
    const api = await guarded()
    const answer = await api.get('/v1/limits', { headers: { authorization } })
    expect(answer.status).toBe(status)
    if (status === 401) expectProblem(answer, 401, 'unauthorized')
    expect(JSON.stringify(answer.body)).not.toContain('all-rea')
  })

  test('is not read from the query', async () => {
    const api = await guarded()
    expect((await api.get('/v1/limits?access_token=all-read&token=all-read')).status).toBe(401)
  })
})

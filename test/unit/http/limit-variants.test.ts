import { describe, expect, test } from 'vitest'
import { localRuleSchema, previewSchema } from '../../../src/http/rule-schemas.ts'
import { verdictsSchema } from '../../../src/http/verdict-schemas.ts'
import { Api, expectProblem, sha256 } from './api.ts'

const put = (api: Api, path: string, limit: string, token?: string) =>
  api.call('PUT', `/v1/limits/${path}`, { body: { limit }, ...(token !== undefined && { token }) })

describe('a dry run', () => {
  test('says what a change would do, and changes nothing', async () => {
    const api = new Api({ '*': '5, 2/s', a: '9, 1/s' })
    for (let job = 0; job < 4; job++) await api.enqueue('a%2Fb')
    const before = (await api.get('/v1/limits')).body
    const { status, body } = await put(api, 'a?dryRun=true', '2, 10/s')
    expect(status).toBe(200)
    expect(previewSchema.parse(body)).toMatchObject({
      buckets: 1,
      affected: 1,
      waiting: 4,
      overfull: 1,
      drainMs: { before: 4_000, after: 400 },
      samples: [{ key: 'a/b', after: { pattern: 'a', limit: '2, 10/s', fill: 2, drainMs: 400 } }],
    })
    const removed = await api.call('DELETE', '/v1/limits/a?dryRun=true')
    expect(removed.status).toBe(200)
    expect(previewSchema.parse(removed.body)).toMatchObject({
      affected: 1,
      samples: [{ after: { pattern: '*' } }],
    })
    const reset = await api.call('DELETE', '/v1/limits/a?dryRun=true&override=only')
    expect(previewSchema.parse(reset.body)).toMatchObject({ affected: 0, samples: [] })
    expect((await api.call('DELETE', '/v1/limits/nothing?dryRun=true')).body).toMatchObject({ affected: 0 })
    expect((await api.get('/v1/limits')).body).toEqual(before)
    // And this is no dry run.
    expect((await put(api, 'a?dryRun=false', '2, 10/s')).body).toMatchObject({ origin: 'override' })
    expect((await api.call('DELETE', '/v1/limits/a?dryRun=false')).status).toBe(204)
  })

  test('of a total says what it would do to families', async () => {
    const api = new Api({ '*': '5, 2/s', 'a/': '9, 1/s' })
    for (const key of ['a%2Fb', 'a%2Fc', 'b']) await api.enqueue(key)
    const { body } = await put(api, 'a%2F?dryRun=true', '1, 2/s')
    expect(previewSchema.parse(body)).toMatchObject({
      ...{ buckets: 3, affected: 0, samples: [] },
      totals: { families: 1, buckets: 2, overfull: 1, drainMs: { before: 2_000, after: 1_000 } },
    })
    const removed = await api.call('DELETE', '/v1/limits/a%2F?dryRun=true')
    expect(previewSchema.parse(removed.body).totals?.samples).toMatchObject([{ path: 'a/', after: null }])
  })

  test('shows where no rule would be left', async () => {
    const api = new Api({ a: '9, 1/s' })
    await api.enqueue('a')
    const { body } = await api.call('DELETE', '/v1/limits/a?dryRun=true')
    expect(previewSchema.parse(body)).toMatchObject({ ungoverned: 1, samples: [{ key: 'a', after: null }] })
  })

  test('shows only buckets that the token may see, and none without the scope', async () => {
    const tokens = [
      { name: 'ops', sha256: sha256('ops'), scopes: ['admin'] as const, prefixes: ['a'] },
      { name: 'eye', sha256: sha256('eye'), scopes: ['read'] as const, prefixes: [] },
    ]
    const api = new Api({ '*': '5, 2/s' }, { tokens })
    for (const key of ['a/1', 'b/1', 'b/2']) await api.shaper.enqueue(key, 0)
    const { body } = await put(api, 'a?dryRun=true', '2, 10/s', 'ops')
    expect(body).toMatchObject({ buckets: 1, affected: 1, samples: [{ key: 'a/1' }] })
    expectProblem(await put(api, 'b?dryRun=true', '2, 10/s', 'ops'), 403, 'forbidden')
    expectProblem(await put(api, 'a?dryRun=true', '2, 10/s', 'eye'), 403, 'forbidden')
    expectProblem(await put(api, 'a?scope=local', '2, 10/s', 'eye'), 403, 'forbidden')
  })
})

describe('a limit of the process', () => {
  test('is set, listed and unset apart from the rule book', async () => {
    const tokens = [
      { name: 'ops', sha256: sha256('t'), scopes: ['admin'] as const, prefixes: [] },
      { name: 'tenant', sha256: sha256('b'), scopes: ['admin'] as const, prefixes: ['b'] },
    ]
    const api = new Api({ '*': '5, 2/s' }, { tokens })
    await api.pass(1_234)
    const { status, body } = await put(api, 'a%2F*?scope=local', '2, 5000/s', 't')
    const rule = { pattern: 'a/*', limit: '2, 5000/s', origin: 'local', by: 'ops', at: 1_234 }
    expect([status, localRuleSchema.parse(body)]).toEqual([200, rule])
    expect((await api.get('/v1/limits', { token: 't' })).body).toMatchObject({
      limits: [{ pattern: '*', origin: 'code' }],
      local: [rule],
    })
    expect((await api.get('/v1/limits', { token: 'b' })).body).toMatchObject({ local: [] })
    expect(api.shaper.limits.overrides()).toEqual([])
    const remove = () => api.call('DELETE', '/v1/limits/a%2F*?scope=local', { token: 't' })
    expect((await remove()).status).toBe(204)
    expectProblem(await remove(), 404, 'not-found', {
      detail: expect.stringContaining('local limit for "a/*"'),
    })
  })

  test('rejects with 429, the time to retry, and the limit that was full', async () => {
    const api = new Api({ '*': '50, 2/s' })
    await put(api, '*?scope=local', '1, 1 per 3 seconds')
    await api.enqueue('k')
    const answer = await api.enqueue('k')
    expectProblem(answer, 429, 'queue-full', {
      local: true,
      retryAfterMs: 3_000,
      waiting: 1,
      capacity: 1,
      key: 'k',
    })
    expect(answer.body['detail']).toMatch(
      /the local limit of this process is reached: 1 of 1 .* room in 3000 ms/,
    )
    expect(answer.headers.get('retry-after')).toBe('3')
    // The policy of the key is another.
    expect(answer.headers.get('ratelimit')).toBeNull()
    expect(answer.body).not.toHaveProperty('violated-policies')
    expectProblem(await api.enqueue('k', { data: null, cost: 2 }), 422, 'too-costly', {
      local: true,
      capacity: 1,
    })
    expect((await api.get('/v1/buckets/k/forecast')).body).toMatchObject({ accepted: false, local: true })
    const batch = await api.post('/v1/jobs', { jobs: ['k', 'other'].map((key) => ({ key, data: 0 })) })
    expect(batch.status).toBe(200)
    expect(verdictsSchema.parse(batch.body).verdicts).toMatchObject([
      { status: 429, local: true, capacity: 1 },
      { status: 202, key: 'other' },
    ])
    const refused = await api.post('/v1/jobs', { jobs: [{ key: 'k', data: 0 }] })
    expectProblem(refused, 429, 'none-accepted', { verdicts: [expect.objectContaining({ local: true })] })
    await api.pass(3_000)
    expect((await api.enqueue('k')).status).toBe(202)
  })

  test('returns the first answer to a repeated id', async () => {
    const api = new Api({ '*': '50, 2/s' })
    await put(api, '*?scope=local', '1, 1/h')
    const again = () => api.enqueue('k', { data: 7 }, { headers: { 'Idempotency-Key': 'x' } })
    const first = await again()
    const second = await again()
    expect([first.status, second.status]).toEqual([202, 202])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expectProblem(await api.enqueue('k'), 429, 'queue-full', { local: true })
  })
})

test.each([
  ['PUT', '*?scope=local&dryRun=true', 'dryRun=true or scope=local'],
  ['DELETE', '*?scope=local&dryRun=true', 'dryRun=true or scope=local'],
  ['DELETE', '*?scope=local&override=only', 'scope=local or override=only'],
  ['PUT', '*?dryRun=yes', 'dryRun'],
  ['PUT', '*?scope=shared', 'scope'],
  ['PUT', '*?dryrun=true', 'did you mean dryRun?'],
  ['PUT', '*?override=only', 'override'],
])('refuses %s %s, and stays as it is', async (method, path, message) => {
  const api = new Api({ '*': '5, 2/s' })
  const body = method === 'PUT' ? { body: { limit: '6, 1/s' } } : {}
  const answer = await api.call(method, `/v1/limits/${path}`, body)
  expectProblem(answer, 422, 'invalid', { detail: expect.stringContaining(message) })
  expect((await api.get('/v1/limits')).body).toMatchObject({ limits: [{ limit: '5, 2/s' }], local: [] })
})

test.each([
  ['?scope=local', '5, 1/s, warm-up 3s'],
  ['?scope=local', '5'],
  ['?dryRun=true', '5, 5000/s'],
])('refuses %s of the limit %j', async (query, limit) => {
  const api = new Api({ '*': '5, 2/s' })
  expectProblem(await put(api, `a${query}`, limit), 422, 'invalid')
  expectProblem(await put(api, `a*${query}`, '5, 1/s'), 422, 'invalid')
  expect(api.shaper.limits.locals()).toEqual([])
})

test('If-Match is of the rule book: a dry run obeys it, and a limit of one process has none', async () => {
  const api = new Api({ '*': '5, 2/s' })
  const headers = { 'If-Match': '"99"' }
  const ask = (method: 'PUT' | 'DELETE', query: string) =>
    api.call(method, `/v1/limits/*?${query}`, {
      headers,
      ...(method === 'PUT' && { body: { limit: '1, 1/s' } }),
    })
  for (const method of ['PUT', 'DELETE'] as const) {
    expect((await ask(method, 'dryRun=true')).status).toBe(412)
    expect((await ask(method, 'scope=local')).status).toBe(422)
  }
  expect(api.shaper.limits.locals()).toEqual([])
})

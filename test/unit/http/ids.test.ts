import { expect, test } from 'vitest'
import { Api, expectProblem, sha256 } from './api.ts'

const tokens = [
  { name: 'ops', sha256: sha256('ops'), scopes: ['admin'] as const, prefixes: [] },
  { name: 'one', sha256: sha256('one'), scopes: ['enqueue', 'read'] as const, prefixes: ['a'] },
  { name: 'two', sha256: sha256('two'), scopes: ['enqueue', 'read'] as const, prefixes: ['b'] },
  { name: 'both', sha256: sha256('both'), scopes: ['enqueue', 'read'] as const, prefixes: ['c', 'b/1'] },
]

async function twoJobs() {
  const api = new Api({ '*': '5, 1/h' }, { tokens })
  for (const [key, token] of [
    ['a', 'one'],
    ['b', 'two'],
  ] as const) {
    for (let n = 0; n < 2; n++) await api.enqueue(`${key}%2F1`, { data: n }, { token })
    const { status, body } = await api.enqueue(`${key}%2F1`, { data: key, id: 'order' }, { token })
    expect([status, body['id'], body['key']]).toEqual([202, 'order', `${key}/1`])
  }
  return api
}

test('a tenant that uses the id of another gets a job of its own, and its own answer again', async () => {
  const api = await twoJobs()
  const again = await api.enqueue('b%2F1', { data: 'b', id: 'order' }, { token: 'two' })
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
  const changed = await api.enqueue('b%2F1', { data: 'c', id: 'order' }, { token: 'two' })
  expectProblem(changed, 422, 'idempotency-key-reused')
  expect((await api.shaper.audit()).admitted).toBe(6)
})

test('each tenant finds, explains and cancels its own job by the id alone', async () => {
  const api = await twoJobs()
  const keyOf = async (token: string, rest = '') =>
    (await api.get(`/v1/jobs/order${rest}`, { token })).body['key']
  expect([await keyOf('one'), await keyOf('two'), await keyOf('both')]).toEqual(['a/1', 'b/1', 'b/1'])
  expect([await keyOf('one', '/explanation'), await keyOf('two', '/explanation')]).toEqual(['a/1', 'b/1'])
  expect((await api.call('DELETE', '/v1/jobs/order', { token: 'two' })).status).toBe(204)
  const stateOf = async (token: string) => (await api.get('/v1/jobs/order', { token })).body['state']
  expect([await stateOf('one'), await stateOf('two')]).toEqual(['waiting', 'cancelled'])
})

test('a token for every key says with a key which job it means', async () => {
  const api = await twoJobs()
  const keyOf = async (query: string, token = 'ops') =>
    (await api.get(`/v1/jobs/order${query}`, { token })).body['key']
  expect(await keyOf('')).toBe('a/1')
  expect(await keyOf('?key=b')).toBe('b/1')
  expect(await keyOf('?key=b%2Fother')).toBe('b/1')
  expectProblem(await api.get('/v1/jobs/order?key=d', { token: 'ops' }), 404, 'not-found', {
    detail: expect.stringContaining('?key= says which is meant'),
  })
  expectProblem(await api.get('/v1/jobs/order?key=b', { token: 'one' }), 403, 'forbidden')
  expectProblem(await api.get('/v1/jobs/order?key=', { token: 'ops' }), 422, 'invalid')
  expect((await api.call('DELETE', '/v1/jobs/order?key=b', { token: 'ops' })).status).toBe(204)
  expect((await api.get('/v1/jobs/order?key=a', { token: 'ops' })).body['state']).toBe('waiting')
  expect((await api.get('/v1/jobs/order?key=b', { token: 'ops' })).body['state']).toBe('cancelled')
})

test('a token for a part of a segment may say which segment it means, and still sees only its part', async () => {
  const api = await twoJobs()
  await api.enqueue('b%2F2', { data: 1, id: 'elsewhere' }, { token: 'two' })
  const find = (id: string, key: string) => api.get(`/v1/jobs/${id}?key=${key}`, { token: 'both' })
  expect((await find('order', 'b')).body['key']).toBe('b/1')
  expectProblem(await find('elsewhere', 'b'), 404, 'not-found')
  expectProblem(await find('elsewhere', 'b%2F2'), 403, 'forbidden')
  expectProblem(await find('order', 'a'), 403, 'forbidden')
})

test('the location of an accepted job leads to this one, though others have its id', async () => {
  const api = new Api({ '*': '5, 1/h' }, { tokens })
  for (const key of ['a', 'b', 'c/1 & 2?']) {
    const options = { token: 'ops' }
    const accepted = await api.enqueue(encodeURIComponent(key), { data: key, id: 'order' }, options)
    const job = await api.get(accepted.headers.get('location')!, options)
    expect(job.body).toMatchObject({ id: 'order', key })
  }
})

test('a tenant that ends many jobs does not make another forget its ids', async () => {
  const api = new Api({ '*': '5, 10/s' }, { tokens, jobDefaults: { keepFinished: 3, keepFinishedMs: 1 } })
  const end = async (key: string, id: string, token: string) => {
    const { status } = await api.enqueue(key, { data: 1, id }, { token })
    expect((await api.call('DELETE', `/v1/jobs/${id}`, { token })).status).toBe(204)
    return status
  }
  await end('a', 'paid', 'one')
  for (let n = 0; n < 50; n++) {
    await api.pass(100)
    await end('b', `n${n}`, 'two')
  }
  const { headers } = await api.enqueue('a', { data: 1, id: 'paid' }, { token: 'one' })
  expect(headers.get('idempotent-replayed')).toBe('true')
  expectProblem(await api.get('/v1/jobs/n0', { token: 'two' }), 404, 'not-found')
})

import { expect, test } from 'vitest'
import { Api, expectProblem, sha256 } from './api.ts'

test('a session shows the token, its scopes, and the backend and version that answer', async () => {
  const tokens = [
    { name: 'shop', sha256: sha256('shop'), scopes: ['read', 'enqueue'] as const, prefixes: ['stripe'] },
    { name: 'blind', sha256: sha256('blind'), scopes: ['enqueue'] as const, prefixes: [] },
  ]
  const api = new Api(undefined, { tokens, version: '1.2.3' })
  const { status, body } = await api.get('/v1/session', { token: 'shop' })
  expect(status).toBe(200)
  expect(body).toEqual({
    name: 'shop',
    scopes: ['read', 'enqueue'],
    prefixes: ['stripe'],
    backend: 'memory',
    shaper: 'api',
    version: '1.2.3',
    durability: 'memory',
  })
  expectProblem(await api.get('/v1/session'), 401, 'unauthorized', { detail: expect.any(String) })
  expectProblem(await api.get('/v1/session', { token: 'blind' }), 403, 'forbidden', {
    detail: expect.any(String),
  })
})

test('without tokens every request may do everything', async () => {
  const { body } = await new Api().get('/v1/session')
  expect(body).toMatchObject({ name: 'anonymous', scopes: ['admin'], prefixes: [] })
})

import { describe, expect, test, vi } from 'vitest'
import type { AccessToken } from '../../../src/http.ts'
import { Api, expectProblem, sha256 } from './api.ts'
import { EventReader } from './event-reader.ts'

function tokenOf(name: string, more: Partial<AccessToken> = {}): AccessToken {
  return { name, sha256: sha256(name), scopes: ['admin'], prefixes: [], ...more }
}

/** An API whose tokens can be replaced. */
function live(...first: AccessToken[]) {
  let list: readonly AccessToken[] = first
  const ask = vi.fn(() => list)
  const onError = vi.fn()
  const api = new Api(undefined, { tokens: ask, onError, snapshotMs: 10 })
  const replace = (...next: AccessToken[]) => {
    list = next
  }
  const statusOf = async (token?: string) =>
    (await api.get('/v1/limits', token === undefined ? {} : { token })).status
  return { api, ask, onError, replace, statusOf }
}

async function listen(api: Api, token?: string): Promise<EventReader> {
  const response = await api.raw('GET', '/v1/events', token === undefined ? {} : { token })
  expect(response.status).toBe(200)
  return new EventReader(response)
}

describe('tokens that are replaced', () => {
  test('are refused when two of them are equal: their rights would be ambiguous', async () => {
    const same = { sha256: sha256('t').toUpperCase() }
    expect(() => live(tokenOf('t'), tokenOf('u'), tokenOf('other', same))).toThrow(
      'expected tokens to be tokens with a sha256 of their own each',
    )
  })

  test('count from the next request on', async () => {
    const { replace, statusOf } = live(tokenOf('old'))
    expect([await statusOf('old'), await statusOf('new')]).toEqual([200, 401])
    replace(tokenOf('old'), tokenOf('new'))
    expect([await statusOf('old'), await statusOf('new')]).toEqual([200, 200])
    replace(tokenOf('new'))
    expect([await statusOf('old'), await statusOf('new')]).toEqual([401, 200])
  })

  test('bring new rights along', async () => {
    const { api, replace } = live(tokenOf('t', { scopes: ['read'] }))
    expectProblem(await api.enqueue('k', { data: 1 }, { token: 't' }), 403, 'forbidden')
    replace(tokenOf('t', { scopes: ['enqueue'], prefixes: ['k'] }))
    expect((await api.enqueue('k', { data: 1 }, { token: 't' })).status).toBe(202)
    expectProblem(await api.get('/v1/limits', { token: 't' }), 403, 'forbidden')
  })

  test('are asked for at every request, and read once a list', async () => {
    const { ask, replace, statusOf } = live(tokenOf('t'))
    ask.mockClear()
    await statusOf('t')
    await statusOf('t')
    expect(ask).toHaveBeenCalledTimes(2)
    const digest = vi.fn(() => sha256('u'))
    const counted = Object.defineProperty({ ...tokenOf('u') }, 'sha256', { get: digest, enumerable: true })
    replace(counted)
    await statusOf('u')
    const reads = digest.mock.calls.length
    expect(reads).toBeGreaterThan(0)
    await statusOf('u')
    expect(digest).toHaveBeenCalledTimes(reads)
  })

  test('by an empty list reject every request: a closed API does not open by mistake', async () => {
    const { replace, statusOf } = live(tokenOf('t'))
    replace()
    expect([await statusOf(), await statusOf('t')]).toEqual([401, 401])
    replace(tokenOf('t'))
    expect([await statusOf(), await statusOf('t')]).toEqual([401, 200])
  })

  test('close an API that had none', async () => {
    const { replace, statusOf } = live()
    expect([await statusOf(), await statusOf('whatever')]).toEqual([200, 200])
    replace(tokenOf('t'))
    expect([await statusOf(), await statusOf('t')]).toEqual([401, 200])
    replace()
    expect([await statusOf(), await statusOf('t')]).toEqual([401, 401])
  })

  test('that cannot be read reject every request, and the operator gets the error', async () => {
    const { api, onError, replace, statusOf } = live(tokenOf('t'))
    replace(tokenOf('t', { sha256: 'short' }))
    const answer = await api.get('/v1/limits', { token: 't' })
    expectProblem(answer, 500, 'internal')
    expect(JSON.stringify(answer.body)).not.toContain('short')
    expect(onError).toHaveBeenCalledWith(
      expect.objectContaining({
        message: 'the access tokens cannot be read',
        cause: expect.objectContaining({ code: 'invalid-options' }),
      }),
      answer.headers.get('x-request-id'),
    )
    replace(tokenOf('t'))
    expect(await statusOf('t')).toBe(200)
  })

  test('may have digests in capitals and prefixes that end with a slash', async () => {
    const { api, replace } = live(tokenOf('other'))
    replace(tokenOf('t', { sha256: sha256('t').toUpperCase(), prefixes: ['a/'] }))
    expect((await api.enqueue('a%2Fb', { data: 1 }, { token: 't' })).status).toBe(202)
    expectProblem(await api.enqueue('ab', { data: 1 }, { token: 't' }), 403, 'forbidden')
  })
})

describe('the streams of a token', () => {
  test('that stays as it is go on', async () => {
    const { api, replace } = live(tokenOf('t', { prefixes: ['a'] }))
    const reader = await listen(api, 't')
    replace(tokenOf('t', { prefixes: ['a'] }), tokenOf('u'))
    await reader.nextOf('snapshot')
    await reader.nextOf('snapshot')
    await api.shaper.enqueue('a', 1)
    expect((await reader.nextOf('verdict')).data).toMatchObject({ key: 'a' })
  })

  test.each([
    ['is gone', [tokenOf('u')]],
    ['is gone, as all are', []],
    ['may read no more', [tokenOf('t', { scopes: ['enqueue'] })]],
    ['may read less', [tokenOf('t', { prefixes: ['a'] })]],
    ['cannot be read', [tokenOf('t', { sha256: '?' })]],
  ])('that %s end, and get no more events', async (_, next) => {
    const { api, replace } = live(tokenOf('t'))
    const reader = await listen(api, 't')
    await api.shaper.enqueue('before', 1)
    replace(...next)
    await api.shaper.enqueue('after', 1)
    const events = await reader.rest()
    expect(events.flatMap(({ event, data }) => (event === 'verdict' ? [data?.['key']] : []))).toEqual([
      'before',
    ])
  })

  test('that needed no token end when tokens come', async () => {
    const { api, replace } = live()
    const reader = await listen(api)
    await reader.nextOf('snapshot')
    replace(tokenOf('t'))
    await reader.rest()
    await api.shaper.enqueue('k', 1)
    expect((await api.get('/v1/events')).status).toBe(401)
  })
})

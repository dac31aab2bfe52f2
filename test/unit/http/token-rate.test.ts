import { describe, expect, test, vi } from 'vitest'
import type { AccessToken } from '../../../src/http.ts'
import { Api, expectProblem, sha256 } from './api.ts'

function tokenOf(name: string, more: Partial<AccessToken> = {}): AccessToken {
  return { name, sha256: sha256(name), scopes: ['admin'], prefixes: [], limit: '3, 1/s', ...more }
}

/** An API on the virtual time of its shaper, whose tokens can be replaced. */
function held(...first: AccessToken[]) {
  let list: readonly AccessToken[] = first
  const api: Api = new Api(undefined, { tokens: () => list, now: () => api.clock.now() })
  const replace = (...next: AccessToken[]) => {
    list = next
  }
  const ask = (token = 't') => api.get('/v1/limits', { token })
  const statuses = async (count: number, token?: string) => {
    const answers: number[] = []
    for (let n = 0; n < count; n++) answers.push((await ask(token)).status)
    return answers
  }
  return { api, ask, replace, statuses }
}

describe('a token with a limit', () => {
  test('is refused when it asks too often, gets the time to retry, and is then accepted', async () => {
    const { api, ask, statuses } = held(tokenOf('t'))
    expect(await statuses(3)).toEqual([200, 200, 200])
    const refused = await ask()
    expectProblem(refused, 429, 'token-rate', {
      detail: 'the token may ask 3 times at once, and then every 1000 ms; again in 1000 ms',
      retryAfterMs: 1_000,
      'violated-policies': ['token:t'],
    })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('ratelimit-policy')).toBe('"token:t";q=3;w=3')
    expect(refused.headers.get('ratelimit')).toBe('"token:t";r=0;t=1')
    await api.pass(999)
    expect(await statuses(1)).toEqual([429])
    await api.pass(1)
    expect(await statuses(2)).toEqual([200, 429])
  })

  test('does not pay for what was refused', async () => {
    const { api, statuses } = held(tokenOf('t'))
    await statuses(50)
    await api.pass(3_000)
    expect(await statuses(4)).toEqual([200, 200, 200, 429])
  })

  test('is counted whatever it asks for, also for what it may not', async () => {
    const { api, statuses } = held(tokenOf('t', { scopes: ['read'], prefixes: ['a'] }))
    const call = { token: 't' }
    expect((await api.enqueue('a', { data: 1 }, call)).status).toBe(403)
    expect((await api.get('/v1/buckets/b', call)).status).toBe(403)
    expect((await api.get('/v1/buckets/a', call)).status).toBe(404)
    expect(await statuses(1)).toEqual([429])
    expect((await api.get('/healthz', call)).status).toBe(200)
  })

  test('is refused before its body is read', async () => {
    const { api, statuses } = held(tokenOf('t'))
    await statuses(3)
    const pull = vi.fn()
    const raw = new ReadableStream({ pull }, { highWaterMark: 0 })
    expectProblem(await api.call('POST', '/v1/buckets/k/jobs', { raw, token: 't' }), 429, 'token-rate')
    expect(pull).not.toHaveBeenCalled()
  })

  test('is held apart from others, of whatever name', async () => {
    const other = tokenOf('t', { sha256: sha256('u') })
    const free = tokenOf('free', { limit: undefined })
    const { statuses } = held(tokenOf('t'), other, free)
    expect(await statuses(4)).toEqual([200, 200, 200, 429])
    expect(await statuses(4, 'u')).toEqual([200, 200, 200, 429])
    expect(await statuses(9, 'free')).not.toContain(429)
  })

  test('that is unknown is 401, and takes nothing from known tokens', async () => {
    const { statuses } = held(tokenOf('t'))
    expect(await statuses(9, 'stranger')).not.toContain(429)
    expect(await statuses(3)).toEqual([200, 200, 200])
  })
})

describe('what a request counts as', () => {
  const batch = (count: number) => ({ jobs: Array.from({ length: count }, () => ({ key: 'k', data: 1 })) })
  const big = (bytes: number) => ({ data: 'x'.repeat(bytes - 11) })
  const roomy = tokenOf('t', { limit: '30, 1/s' })
  const post = (api: Api, path: string, body: object, headers = {}) =>
    api.call('POST', path, { body, token: 't', headers })

  test('is the number of jobs of a batch', async () => {
    const { api, statuses } = held(roomy)
    expect((await post(api, '/v1/jobs', batch(28))).status).toBe(200)
    expect(await statuses(3)).toEqual([200, 200, 429])
  })

  test('may be more than the burst: it is accepted where one request is, and the next wait', async () => {
    const { api, ask, statuses } = held(roomy)
    await statuses(29)
    expect((await post(api, '/v1/jobs', batch(100))).status).toBe(200)
    expectProblem(await ask(), 429, 'token-rate', { retryAfterMs: 100_000 })
    await api.pass(99_999)
    expect(await statuses(1)).toEqual([429])
    await api.pass(1)
    expect(await statuses(2)).toEqual([200, 429])
  })

  test('is one for each 4 KiB of a body, whether its length is announced or not', async () => {
    const { api, statuses } = held(roomy)
    const announced = { 'Content-Length': '40000' }
    expect((await post(api, '/v1/buckets/k/jobs', big(40_000), announced)).status).toBe(202)
    expect((await post(api, '/v1/buckets/k/jobs', big(40_000))).status).toBe(202)
    expect(await statuses(11)).toEqual([...Array(10).fill(200), 429])
  })

  test('of a body that is refused for its announced length is one', async () => {
    const { api, statuses } = held(roomy)
    const answer = await post(api, '/v1/buckets/k/jobs', big(100), { 'Content-Length': '9000000000000000' })
    expect(answer.status).toBe(413)
    expect(await statuses(30)).toEqual([...Array(29).fill(200), 429])
  })

  test('is counted before anything is admitted: of many batches at once few are accepted', async () => {
    const { api } = held(roomy)
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(api, '/v1/jobs', batch(20))))
    const accepted = answers.filter(({ status }) => status !== 429)
    expect(accepted.length).toBeGreaterThan(0)
    // At most the burst and one batch beyond it.
    expect(accepted.length).toBeLessThanOrEqual(2)
  })
})

describe('tokens that are read again', () => {
  test('keep what they have asked, whatever changes of them', async () => {
    const { replace, statuses } = held(tokenOf('t'))
    await statuses(3)
    replace(tokenOf('t'), tokenOf('u'))
    expect(await statuses(1)).toEqual([429])
    replace(tokenOf('t', { scopes: ['read'] }))
    expect(await statuses(1)).toEqual([429])
    replace(tokenOf('t', { limit: '5, 1/s' }))
    expect(await statuses(3)).toEqual([200, 200, 429])
    replace(tokenOf('t', { limit: '1, 1/s' }))
    expect(await statuses(1)).toEqual([429])
  })

  test('bring a limit to one that had none, and take it away', async () => {
    const { replace, statuses } = held(tokenOf('t', { limit: undefined }))
    expect(await statuses(9)).not.toContain(429)
    replace(tokenOf('t', { limit: '1, 1/s' }))
    expect(await statuses(2)).toEqual([200, 429])
    replace(tokenOf('t', { limit: undefined }))
    expect(await statuses(9)).not.toContain(429)
  })

  test('do not end the streams of one whose rate alone has changed', async () => {
    const { api, replace } = held(tokenOf('t'))
    const response = await api.raw('GET', '/v1/events', { token: 't' })
    const reader = response.body!.getReader()
    await reader.read()
    replace(tokenOf('t', { limit: '9, 1/s' }))
    await api.shaper.enqueue('k', 1)
    let text = ''
    while (!text.includes('event: verdict')) {
      const { done, value } = await reader.read()
      expect(done).toBe(false)
      text += new TextDecoder().decode(value)
    }
    await reader.cancel()
  })
})

test('without tokens no request is counted', async () => {
  const api = new Api()
  for (let n = 0; n < 50; n++) expect((await api.get('/v1/limits')).status).toBe(200)
})

test.each(['600', 'quickly', '0, 1/s', '', 5])('the limit %j is refused immediately', (limit) => {
  const tokens = [tokenOf('t', { limit: limit as string })]
  expect(() => new Api(undefined, { tokens })).toThrow(
    expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining('tokens.0.limit') }),
  )
})

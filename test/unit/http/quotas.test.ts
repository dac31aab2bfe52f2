import { describe, expect, test } from 'vitest'
import { OPEN } from '../../../src/http/access.ts'
import { OverloadGuard } from '../../../src/http/overload.ts'
import { Quota } from '../../../src/http/quota.ts'
import type { AccessToken, HttpOptions } from '../../../src/http.ts'
import { eventually } from '../../support/patience.ts'
import { Api, expectProblem, sha256, signal } from './api.ts'
import { RawClient, serve } from './raw-client.ts'

const RARELY = { snapshotMs: 600_000, keepAliveMs: 600_000 }
const tokenOf = (name: string, more: Partial<AccessToken> = {}): AccessToken => ({
  name,
  sha256: sha256(name),
  scopes: ['read', 'enqueue'],
  prefixes: [name],
  ...more,
})
const OPERATOR = tokenOf('operator', { scopes: ['admin'], prefixes: [] })
const TOKENS = [tokenOf('a'), tokenOf('b'), tokenOf('c'), tokenOf('chief', { scopes: ['admin'] }), OPERATOR]

function guardOf(maxInFlight: number, maxTokenShare: number): OverloadGuard {
  const memory = { maxHeapShare: 1, heapReserveMb: 0, maxSegmentShare: 1 }
  const tally = { of: () => 0, sum: () => ({ bytes: 0, segments: 0 }) }
  return new OverloadGuard({ maxInFlight, maxTokenShare, maxLagMs: 1_000, ...memory }, tally)
}

/** An API on virtual time with these tokens. */
function held(options: HttpOptions = {}) {
  const api: Api = new Api(undefined, { tokens: TOKENS, now: () => api.clock.now(), ...RARELY, ...options })
  const stream = (token: string, query = '') => api.raw('GET', `/v1/events${query}`, { token })
  const statuses = async (token: string, count: number) => {
    const answers: number[] = []
    for (let n = 0; n < count; n++) answers.push((await stream(token)).status)
    return answers
  }
  return { api, stream, statuses }
}

describe('streams of events', () => {
  test('of one token leave room for those of others', async () => {
    const { api, statuses } = held({ maxStreams: 10, maxStreamsPerToken: 4 })
    expect(await statuses('a', 6)).toEqual([200, 200, 200, 200, 429, 429])
    const answer = await api.get('/v1/events', { token: 'a' })
    expectProblem(answer, 429, 'token-quota', { detail: 'expected at most 4 streams of one token at once' })
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await statuses('b', 5)).toEqual([200, 200, 200, 200, 429])
  })

  test('of all tokens leave a tenth for the operator', async () => {
    const { statuses } = held({ maxStreams: 10, maxStreamsPerToken: 4 })
    await statuses('a', 4)
    await statuses('b', 4)
    expect(await statuses('c', 2)).toEqual([200, 503])
    expect(await statuses('chief', 1)).toEqual([503])
    expect(await statuses('operator', 2)).toEqual([200, 503])
  })

  test('of the operator may be all', async () => {
    const { statuses } = held({ maxStreams: 10, maxStreamsPerToken: 4 })
    expect(await statuses('operator', 11)).toEqual([...Array(10).fill(200), 503])
  })

  test('give their place back when they end', async () => {
    const { stream, statuses } = held({ maxStreamsPerToken: 1 })
    const first = await stream('a')
    expect(await statuses('a', 1)).toEqual([429])
    await first.body!.cancel()
    expect(await statuses('a', 2)).toEqual([200, 429])
  })

  test('give their places back when their connection is closed, also those behind another answer', async () => {
    const { api, stream } = held({ maxStreamsPerToken: 3 })
    const client = await RawClient.to(await serve(api))
    const request = 'GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\n\r\n'
    client.send(request.repeat(3))
    const next = async () => {
      const { status, body } = await stream('a')
      await body!.cancel()
      return status
    }
    await eventually(async () => expect(await next()).toBe(429))
    client.socket.destroy()
    await eventually(async () => {
      const all = [await stream('a'), await stream('a'), await stream('a')]
      for (const { body } of all) await body!.cancel()
      expect(all.map(({ status }) => status)).toEqual([200, 200, 200])
    })
  })
})

describe('watched buckets', () => {
  const recent = (api: Api, token: string, key: string) => api.get(`/v1/buckets/${key}/recent`, { token })

  test('of one token leave room for those of others', async () => {
    const { api } = held()
    await recent(api, 'b', 'b/mine')
    await api.shaper.enqueue('b/mine', 1)
    for (let n = 0; n < 101; n++) {
      const answer = await recent(api, 'a', `a/${n}`)
      if (n < 20) expect(answer.status).toBe(200)
      else expectProblem(answer, 429, 'token-quota')
    }
    // Those that it watches already, it may go on with.
    expect((await recent(api, 'a', 'a/0')).status).toBe(200)
    expect((await recent(api, 'b', 'b/mine')).body['verdicts']).toHaveLength(1)
  })

  test('of all tokens leave a tenth for the operator', async () => {
    const { api } = held({ maxWatchedPerToken: 80 })
    await recent(api, 'operator', 'x')
    for (let n = 0; n < 80; n++) expect((await recent(api, 'a', `a/${n}`)).status).toBe(200)
    for (let n = 0; n < 10; n++) expect((await recent(api, 'b', `b/${n}`)).status).toBe(200)
    expectProblem(await recent(api, 'c', 'c'), 429, 'token-quota')
    await api.shaper.enqueue('x', 1)
    expect((await recent(api, 'operator', 'x')).body['verdicts']).toHaveLength(1)
  })

  test('are counted for 30 s after the last request', async () => {
    const { api } = held({ maxWatchedPerToken: 1 })
    expect((await recent(api, 'a', 'a/1')).status).toBe(200)
    await api.pass(29_999)
    expect((await recent(api, 'a', 'a/2')).status).toBe(429)
    await api.pass(1)
    expect((await recent(api, 'a', 'a/2')).status).toBe(200)
  })

  test('of a stream are counted for as long as it is open', async () => {
    const { api, stream } = held({ maxWatchedPerToken: 1 })
    const open = await stream('a', '?types=bucket&key=a/1')
    expect(open.status).toBe(200)
    await api.pass(60_000)
    expect((await stream('a', '?types=bucket&key=a/2')).status).toBe(429)
    expect((await recent(api, 'a', 'a/2')).status).toBe(429)
    await open.body!.cancel()
    await api.pass(30_000)
    expect((await recent(api, 'a', 'a/2')).status).toBe(200)
  })
})

describe('requests that look through the buckets', () => {
  const LIMIT = { limit: '9, 9/s' }

  test.each([
    ['pages of buckets', (api: Api, token: string) => api.get('/v1/buckets', { token })],
    [
      'dry runs',
      (api: Api, token: string) => api.call('PUT', `/v1/limits/${token}?dryRun=true`, { token, body: LIMIT }),
    ],
  ])('of one token are five at the same time: %s', async (_, ask) => {
    const tokens = [tokenOf('a', { scopes: ['admin'] }), tokenOf('b', { scopes: ['admin'] })]
    const { api } = held({ tokens })
    const go = signal()
    const { buckets, limits } = api.shaper
    const preview = limits.preview.bind(limits)
    let arrived = 0
    const wait = () => {
      arrived++
      return go.given
    }
    api.shaper.buckets = (query) => wait().then(() => buckets.call(api.shaper, query))
    limits.preview = (...change) => wait().then(() => preview(...change))
    const asked = ['a', 'a', 'a', 'a', 'a', 'a', 'b'].map((token) => ask(api, token))
    for (const answer of asked) void answer.then(() => arrived++)
    await eventually(() => expect(arrived).toBe(7))
    go.give()
    const answers = await Promise.all(asked)
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(6).fill(200), 429])
    expectProblem(answers.find(({ status }) => status === 429)!, 429, 'token-quota')
    expect((await ask(api, 'a')).status).toBe(200)
    expect(answers.at(-1)!.status).toBe(200)
  })
})

describe('requests in flight', () => {
  test('of one token leave half of the places to others', async () => {
    const { api } = held({ overload: { maxInFlight: 4 } })
    const go = signal()
    const { inspect } = api.shaper
    api.shaper.inspect = (async (key: string) => {
      await go.given
      return inspect.call(api.shaper, key)
    }) as typeof inspect
    const ask = (token: string) => api.get(`/v1/buckets/${token}`, { token })
    const first = [ask('a'), ask('a')]
    expectProblem(await ask('a'), 429, 'token-quota', { detail: 'too many requests in flight' })
    const others = [ask('b'), ask('operator')]
    expectProblem(await ask('c'), 503, 'temporary-reduced-capacity')
    go.give()
    for (const answer of await Promise.all([...first, ...others])) expect(answer.status).toBe(404)
    expect((await ask('a')).status).toBe(404)
  })

  test('without a token take no more than half either', async () => {
    const guard = guardOf(4, 0.5)
    const never = () => new Promise<void>(() => undefined)
    void guard.run(never, OPEN)
    void guard.run(never, OPEN)
    await expect(guard.run(never, OPEN)).rejects.toThrow('too many requests in flight')
    await guard.run(async () => undefined, { name: 'a', scopes: ['read'], prefixes: [] })
  })

  test('count until their answers have been sent', async () => {
    const guard = guardOf(1, 1)
    let onSent: () => void = () => undefined
    await guard.run(
      async () => 'answered',
      undefined,
      (callback) => {
        onSent = callback
      },
    )
    await expect(guard.run(async () => 'answered')).rejects.toThrow('too many requests')
    onSent()
    expect(await guard.run(async () => 'answered')).toBe('answered')
  })

  test('that fail count until the failure has been sent', async () => {
    const guard = guardOf(1, 1)
    let onSent: () => void = () => undefined
    const failing = guard.run(
      () => Promise.reject(new Error('no')),
      undefined,
      (callback) => {
        onSent = callback
      },
    )
    await expect(failing).rejects.toThrow('no')
    await expect(guard.run(async () => 'answered')).rejects.toThrow('too many requests')
    onSent()
    expect(await guard.run(async () => 'answered')).toBe('answered')
  })
})

test('places given back leave nothing behind', () => {
  const quota = new Quota({ most: 10, perToken: 1 })
  const one = { name: 'a', scopes: ['read'] as const, prefixes: [] }
  for (let n = 0; n < 100; n++) {
    expect(quota.exhausted(one)).toBeUndefined()
    quota.take(one)
    expect(quota.exhausted(one)).toBe('token')
    quota.putBack(one)
  }
})

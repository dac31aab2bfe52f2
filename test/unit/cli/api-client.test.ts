import { describe, expect, it } from 'vitest'
import { ApiClient, slicesOf } from '../../../src/cli/api/client.ts'
import { ApiProblemError } from '../../../src/cli/api/problem.ts'
import { checkApiUrl } from '../../../src/cli/line-flags.ts'
import { openService, openStranger, SECRET, tokenFor } from './open-service.ts'

const clientOf = (url: string, token?: string, timeoutMs?: number) =>
  new ApiClient({ url: checkApiUrl(url), token, timeoutMs })

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('expected an error'),
    (error: ApiProblemError) => error,
  )

describe('the API of a service', () => {
  it('enqueues, and answers again', async () => {
    const { shaper, url } = await openService({ '*': '2, 1/s' })
    const client = clientOf(url)
    const first = await client.enqueue('a/b', { text: 'hello' }, { id: 'order-7', cost: 2 })
    expect(first).toMatchObject({
      accepted: true,
      id: 'order-7',
      key: 'a/b',
      position: 1,
      waiting: 2,
      capacity: 2,
    })
    expect(await client.enqueue('a/b', { text: 'hello' }, { id: 'order-7', cost: 2 })).toMatchObject({
      id: 'order-7',
      replayed: true,
    })
    expect(await shaper.job('order-7')).toMatchObject({ data: { text: 'hello' }, cost: 2 })
  })

  it('returns refusals as values', async () => {
    const { url } = await openService({ '*': '1, 1/s' })
    const client = clientOf(url)
    await client.enqueue('a', 1)
    expect(await client.enqueue('a', 2)).toEqual({
      accepted: false,
      reason: 'full',
      key: 'a',
      retryAfterMs: expect.any(Number),
      waiting: 1,
      capacity: 1,
    })
    expect(await client.enqueue('b', 1, { cost: 2 })).toMatchObject({
      reason: 'too-costly',
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    expect(await client.enqueue('a', 1, { deadlineMs: 1 })).toMatchObject({ accepted: false })
  })

  it('admits the others where some cannot be, and says why in their place', async () => {
    const { shaper, url } = await openService({ 'ok/*': '9, 1/s' })
    const requests = ['ok/a', 'unknown', 'ok/b', 'ok/c'].map((key) => ({ key, data: key }))
    const verdicts = await clientOf(url).enqueueMany(requests)
    expect(verdicts.map((verdict) => verdict instanceof ApiProblemError || verdict.key)).toEqual([
      'ok/a',
      true,
      'ok/b',
      'ok/c',
    ])
    expect(verdicts[1]).toMatchObject({ code: 'api-refused', status: 422, problem: 'no-limit' })
    expect((await shaper.buckets()).total).toBe(3)
  })

  it('sends what a service takes in one call: neither too many nor too large', async () => {
    const { shaper, url } = await openService({ '*': '1000, 1/s' })
    const large = { key: 'a', data: 'x'.repeat(600_000) }
    const tooLarge = { key: 'a', data: 'x'.repeat(1_100_000) }
    const many = Array.from({ length: 450 }, (_, n) => ({ key: 'b', data: n }))
    const verdicts = await clientOf(url).enqueueMany([large, large, tooLarge, large, ...many])
    expect(verdicts[2]).toMatchObject({ code: 'api-refused', status: 413 })
    expect(verdicts.filter((verdict) => 'accepted' in verdict && verdict.accepted)).toHaveLength(453)
    expect(await shaper.inspect('b')).toMatchObject({ waiting: 450 })
    expect([...slicesOf(many)].map((slice) => slice.length)).toEqual([200, 200, 50])
    expect([...slicesOf([large, large, tooLarge])].map((slice) => slice.length)).toEqual([1, 1, 1])
  })

  it('reads buckets as the shaper returns them', async () => {
    const { shaper, url } = await openService({ '*': '4, 1/m' })
    for (const key of ['a', 'a', 'a', 'b', 'c?&/é']) await shaper.enqueue(key, 1)
    const client = clientOf(url)
    const query = { prefix: '', minFill: 0.25, sort: 'key', limit: 2 } as const
    const page = await client.buckets(query)
    expect(page).toEqual({
      ...(await shaper.buckets(query)),
      buckets: [
        expect.objectContaining({ key: 'a', waiting: 3, fill: 0.75, state: 'waiting', limit: '4, 1/m' }),
        expect.objectContaining({ key: 'b' }),
      ],
    })
    const rest = await client.buckets({ ...query, cursor: page.cursor })
    expect(rest.buckets.map(({ key }) => key)).toEqual(['c?&/é'])
    expect(rest.cursor).toBeUndefined()
    expect((await client.buckets({ prefix: 'c?&' })).total).toBe(1)
  })

  it('changes limits; reset drops what was set by hand, unset the rule itself', async () => {
    const { shaper, url } = await openService({ '*': '4, 1/m', 'a b/*': '5, 1/s' }, [tokenFor('admin')])
    const client = clientOf(url, SECRET)
    expect(await client.setLimit('a b/*', '9, 1/s')).toMatchObject({ origin: 'override', by: 'ops' })
    expect(await client.limits()).toEqual({ version: 2, limits: shaper.limits.list(), unset: [] })
    expect([await client.resetLimit('a b/*'), await client.resetLimit('a b/*')]).toEqual([true, false])
    expect(shaper.limits.resolve('a b/c')).toMatchObject({ limit: '5, 1/s', origin: 'code' })
    expect([await client.unsetLimit('a b/*'), await client.unsetLimit('a b/*')]).toEqual([true, false])
    expect(shaper.limits.resolve('a b/c')).toMatchObject({ pattern: '*' })
  })

  it('changes limits of one version only', async () => {
    const { shaper, url } = await openService({ '*': '4, 1/m' })
    const client = clientOf(url)
    const [old, now] = [{ ifVersion: 9 }, { ifVersion: 1 }]
    const conflict = { code: 'rule-book-conflict', expected: 9, version: 1 }
    await expect(client.setLimit('a', '9, 1/s', old)).rejects.toMatchObject(conflict)
    await expect(client.unsetLimit('*', old)).rejects.toMatchObject(conflict)
    await expect(client.resetLimit('*', old)).rejects.toMatchObject(conflict)
    expect(shaper.limits.version).toBe(1)
    expect(await client.setLimit('a', '9, 1/s', now)).toMatchObject({ limit: '9, 1/s' })
    expect([await client.resetLimit('a', { ifVersion: 2 }), shaper.limits.version]).toEqual([true, 3])
  })

  it('passes on a 412 of another server, and accepts a service without versions', async () => {
    const proxy = await openStranger((response) => response.writeHead(412).end('no'))
    const change = clientOf(proxy.url).setLimit('a', '9, 1/s', { ifVersion: 3 })
    await expect(change).rejects.toMatchObject({ code: 'api-refused', status: 412 })
    expect(proxy.asked[0]!.headers['if-match']).toBe('"3"')
    const older = await openStranger((response) => response.end('{"limits":[]}'))
    expect(await clientOf(older.url).limits()).toEqual({ version: 0, limits: [], unset: [] })
  })

  it('refuses patterns that a URL would lose', async () => {
    const client = clientOf('http://127.0.0.1:1')
    for (const pattern of ['.', '..']) {
      await expect(async () => client.setLimit(pattern, '1, 1/s')).rejects.toMatchObject({
        code: 'invalid-key',
      })
    }
  })
})

describe('a client without the right', () => {
  it.each([
    [undefined, 401, 'it needs a token: --token, or VELVET_ROPE_TOKEN in the environment'],
    ['wrong', 401, 'check the token'],
    [SECRET, 403, 'expected a token with the scope admin, got: read'],
  ])('with the token %j gets %d', async (token, status, message) => {
    const { url } = await openService({ '*': '1, 1/s' }, [tokenFor('read')])
    const error = await caught(clientOf(url, token).setLimit('a', '1, 1/s'))
    expect(error).toMatchObject({ code: 'api-refused', status })
    expect(error.message).toContain(message)
    expect(error.message).not.toContain(SECRET)
  })

  it('gets the same for a job', async () => {
    const { url } = await openService({ '*': '1, 1/s' }, [tokenFor('enqueue', 'mine')])
    expect(await caught(clientOf(url, SECRET).enqueue('theirs', 1))).toMatchObject({ status: 403 })
    expect(await clientOf(url, SECRET).enqueue('mine/1', 1)).toMatchObject({ accepted: true })
  })
})

describe('another server at the address', () => {
  it.each([
    ['a page', 200, '<html>hello</html>', 'is http://', 'api-refused'],
    ['other JSON', 200, '{"buckets":7}', 'velvet-rope of this version?', 'api-refused'],
    ['another page of errors', 404, 'no such page', 'the service answered 404', 'api-refused'],
    [
      'a proxy whose service is away',
      502,
      '<html>bad gateway</html>',
      'the service answered 502',
      'api-failed',
    ],
    ['one that has too much to do', 429, '', 'the service answered 429', 'api-failed'],
  ])('is recognized: %s', async (_, status, body, message, code) => {
    const { url } = await openStranger((response) => response.writeHead(status).end(body))
    const error = await caught(clientOf(url).buckets())
    expect(error).toMatchObject({ code, status })
    expect(error.message).toContain(message)
    expect(await caught(clientOf(url).enqueue('a', 1))).toMatchObject({ code })
    expect(await caught(clientOf(url).unsetLimit('a'))).toMatchObject({ status })
  })

  it('gets no token that it was not given: no redirect is followed', async () => {
    const thief = await openStranger((response) => response.end('{}'))
    const { asked, url } = await openStranger((response) =>
      response.writeHead(307, { location: `${thief.url}/v1/buckets` }).end(),
    )
    expect(await caught(clientOf(url, SECRET).buckets())).toMatchObject({ status: 307 })
    expect(asked[0]!.headers.authorization).toBe(`Bearer ${SECRET}`)
    expect(thief.asked).toEqual([])
  })

  it('shows its words in one bounded line that cannot move the cursor', async () => {
    const detail = `\u001b[2J\u202e\n${'x'.repeat(1_000)}`
    const { url } = await openStranger((response) =>
      response.writeHead(500).end(JSON.stringify({ type: 'about:blank', detail })),
    )
    const { message } = await caught(clientOf(url).buckets())
    expect(message).toMatch(/^the service answered 500: \[2J x+\.\.\.$/)
    expect(message.length).toBeLessThan(340)
  })

  it('says when to come back, by body or header', async () => {
    const inHeader = await openStranger((response) => response.writeHead(503, { 'retry-after': '7' }).end())
    expect(await caught(clientOf(inHeader.url).buckets())).toMatchObject({ retryAfterMs: 7_000 })
    const inBody = await openStranger((response) =>
      response.writeHead(503, { 'retry-after': '7' }).end('{"type":"x:y","retryAfterMs":250}'),
    )
    expect(await caught(clientOf(inBody.url).buckets())).toMatchObject({ retryAfterMs: 250, problem: 'y' })
  })
})

describe('no server at the address', () => {
  it('is reported with the network error', async () => {
    const { url, close } = await openService({ '*': '1, 1/s' })
    await close()
    const error = await caught(clientOf(url, SECRET).buckets())
    expect(error.code).toBe('backend-unavailable')
    expect(error.message).toMatch(
      /^the service at http:\/\/127\.0\.0\.1:\d+ does not answer: connect ECONNREFUSED/,
    )
  })

  it('is given up after a while', async () => {
    const { url } = await openStranger(() => {})
    expect((await caught(clientOf(url, SECRET, 50).buckets())).message).toMatch(/no answer within 0\.05 s$/)
  })

  it('is not waited for any more after close', async () => {
    const { url, asked } = await openStranger(() => {})
    const client = clientOf(url)
    const reading = caught(client.buckets())
    await expect.poll(() => asked.length).toBe(1)
    await client.close()
    expect(await reading).toMatchObject({ code: 'backend-unavailable' })
  })
})

import { describe, expect, test, vi } from 'vitest'
import { meterSchema } from '../../../src/http/verdict-schemas.ts'
import { BackendUnavailableError } from '../../../src/index.ts'
import { Meter } from '../../../src/meter.ts'
import { type Answer, Api, expectProblem } from './api.ts'

const fields = ({ headers }: Answer) =>
  ['ratelimit-policy', 'ratelimit', 'retry-after'].map((name) => headers.get(name))

describe('a fill', () => {
  test('goes in, and returns what is left', async () => {
    const api = new Api({ '*': '4, 2/s' })
    const answer = await api.post('/v1/meters/acme%2F1/fill', { amount: 2.5 })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      key: 'acme/1',
      pattern: '*',
      accepted: true,
      level: 2.5,
      space: 1.5,
      capacity: 4,
      intervalMs: 500,
      full: false,
      blocked: false,
      emptyInMs: 1_250,
    })
    expect(meterSchema.parse(answer.body)).toEqual(answer.body)
    expect(fields(answer)).toEqual(['"*";q=4;w=2', '"*";r=1;t=1', null])
  })

  test('that does not fit changes nothing, and goes in after retryAfter', async () => {
    const api = new Api({ '*': '4, 2/s' })
    await api.post('/v1/meters/k/fill', { amount: 3 })
    const refused = await api.post('/v1/meters/k/fill', { amount: 3.5 })
    expectProblem(refused, 429, 'over-limit', {
      detail: '1 of 4 units are free, and the fill needs 3.5; there is room in 1250 ms',
      key: 'k',
      retryAfterMs: 1_250,
      level: 3,
      space: 1,
      capacity: 4,
      blocked: false,
      'violated-policies': ['*'],
    })
    expect(fields(refused)).toEqual(['"*";q=4;w=2', '"*";r=1;t=2', '2'])
    await api.pass(1_249)
    expect((await api.post('/v1/meters/k/fill', { amount: 3.5 })).status).toBe(429)
    await api.pass(1)
    expect((await api.post('/v1/meters/k/fill', { amount: 3.5 })).status).toBe(200)
  })

  test('that never fits is refused without a time to retry', async () => {
    const api = new Api({ '*': '4, 2/s' })
    const refused = await api.post('/v1/meters/k/fill', { amount: 5 })
    expectProblem(refused, 422, 'never-fits', {
      detail: 'the amount is 5, and the meter holds 4',
      capacity: 4,
    })
    expect(refused.body).not.toHaveProperty('retryAfterMs')
    expect(fields(refused)).toEqual(['"*";q=4;w=2', '"*";r=4;t=0', null])
  })

  test('of a blocked key returns when the block is over', async () => {
    const api: Api = new Api({ '*': '1, 1/s' })
    const { limits } = api.shaper
    const meter = new Meter('blocking', { limits, clock: api.clock, blockWhenFull: '1m' })
    const blocking = new Api({}, { meter })
    for (const status of [200, 429, 429]) {
      expect((await blocking.post('/v1/meters/k/fill')).status).toBe(status)
    }
    const refused = await blocking.post('/v1/meters/k/fill')
    expectProblem(refused, 429, 'over-limit', {
      detail: 'the meter was full and is blocked; there is room for 1 in 60000 ms',
      blocked: true,
    })
    expect(fields(refused)).toEqual(['"*";q=1;w=1', '"*";r=0;t=60', '60'])
    expect((await blocking.call('DELETE', '/v1/meters/k')).status).toBe(204)
    expect((await blocking.post('/v1/meters/k/fill')).status).toBe(200)
  })

  test.each<[string, RequestInit]>([
    ['nothing', {}],
    ['nothing, of length 0', { headers: { 'Content-Length': '0' } }],
    [
      'nothing, as a form',
      { headers: { 'Content-Length': '0', 'Content-Type': 'application/x-www-form-urlencoded' } },
    ],
    ['nothing, as JSON', { headers: { 'Content-Type': 'application/json' } }],
    ['an empty object', { headers: { 'Content-Type': 'application/json' }, body: '{}' }],
    ['one', { headers: { 'Content-Type': 'application/json' }, body: '{"amount":1}' }],
  ])('of %s is one unit', async (_, init) => {
    const api = new Api()
    const response = await api.app.request('/v1/meters/k/fill', { method: 'POST', ...init })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ level: 1 })
  })

  test.each([
    [422, 'invalid', { amount: -1 }],
    [422, 'invalid', { amount: '1' }],
    [422, 'invalid', { amount: null }],
    [422, 'invalid', { amuont: 1 }],
    [422, 'invalid', { amount: 1, overflow: 'clamp' }],
    [422, 'invalid', 5],
    [422, 'invalid', null],
  ])('is answered with %i %s to %j', async (status, name, body) => {
    const api = new Api()
    expectProblem(await api.post('/v1/meters/k/fill', body), status, name)
    expect((await api.meter.level('k')).level).toBe(0)
  })

  test.each([
    [422, 'invalid', '{"amount":1e999}', 'application/json'],
    [400, 'bad-request', '{', 'application/json'],
    [400, 'bad-request', ' ', 'application/json'],
    [415, 'unsupported-media-type', '{"amount":9}', 'text/plain'],
    [413, 'too-large', `{"amount":1${' '.repeat(70_000)}}`, 'application/json'],
  ])('is answered with %i %s to %.20s', async (status, name, raw, type) => {
    const api = new Api()
    const answer = await api.call('POST', '/v1/meters/k/fill', { raw, headers: { 'Content-Type': type } })
    expectProblem(answer, status, name)
    expect((await api.meter.level('k')).level).toBe(0)
  })

  test('is not taken for one unit when it does not say what it is', async () => {
    const api = new Api()
    const body = new TextEncoder().encode('{"amount":0.001}')
    const response = await api.app.request('/v1/meters/k/fill', { method: 'POST', body })
    expect(response.status).toBe(415)
    expect((await api.meter.level('k')).level).toBe(0)
  })

  test('of nothing at all goes in, though the bucket is full', async () => {
    const api = new Api({ '*': '1, 1/h' })
    await api.post('/v1/meters/k/fill')
    expect((await api.post('/v1/meters/k/fill', { amount: 0 })).status).toBe(200)
  })

  test('of a hundred at once accepts as many as there is room for', async () => {
    const api = new Api({ '*': '10, 1/h' })
    const answers = await Promise.all(Array.from({ length: 100 }, () => api.post('/v1/meters/k/fill')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90)
  })

  test('is refused when memory is scarce: levels take some', async () => {
    const api = new Api(undefined, { heap: () => ({ used: 95, limit: 100 }) })
    expectProblem(await api.post('/v1/meters/k/fill'), 503, 'temporary-reduced-capacity')
    expect((await api.get('/v1/meters/k')).status).toBe(200)
  })
})

describe('a level', () => {
  test('is looked at without a change', async () => {
    const api = new Api({ '*': '4, 2/s' })
    await api.meter.fill('k', 3)
    await api.pass(250)
    const { status, body } = await api.get('/v1/meters/k')
    expect(status).toBe(200)
    expect(meterSchema.parse(body)).toEqual({ key: 'k', ...(await api.meter.level('k')) })
    expect(body).toMatchObject({ level: 2.5 })
    expect(body).not.toHaveProperty('accepted')
  })

  test.each([
    ['0', true],
    ['1.5', true],
    ['1.51', false],
    ['9', false],
  ])('returns whether %s would go in', async (amount, accepted) => {
    const api = new Api({ '*': '4, 2/s' })
    await api.meter.fill('k', 2.5)
    const { body } = await api.get(`/v1/meters/k?amount=${amount}`)
    expect(meterSchema.parse(body)).toMatchObject({ accepted, level: 2.5 })
    expect((await api.meter.level('k')).level).toBe(2.5)
  })

  test('and the verdict on an amount are of one instant', async () => {
    const api = new Api({ '*': '4, 2/s' })
    await api.meter.fill('k', 4)
    const { level, canAccept } = api.meter
    // Each question takes a while, in which half of it leaks.
    const slow =
      <Args extends unknown[], Answer>(ask: (...args: Args) => Promise<Answer>) =>
      async (...args: Args) => {
        const answer = await ask.apply(api.meter, args)
        await api.pass(1_000)
        return answer
      }
    Object.assign(api.meter, { level: slow(level), canAccept: slow(canAccept) })
    const { body } = await api.get('/v1/meters/k?amount=1')
    expect(body).toMatchObject({ level: 4, space: 0, accepted: false })
  })

  test.each(['amount=-1', 'amount=x', 'amount=', 'amount=1e3', 'amount=1&amount=1', 'cost=1'])(
    'refuses the query %s',
    async (query) => {
      expectProblem(await new Api().get(`/v1/meters/k?${query}`), 422, 'invalid')
    },
  )

  test('of a key that was never filled is empty', async () => {
    expect((await new Api().get('/v1/meters/unknown')).body).toMatchObject({
      level: 0,
      space: 5,
      emptyInMs: 0,
    })
  })

  test('is drained', async () => {
    const api = new Api()
    await api.meter.fill('a/b', 5)
    expect(await api.call('DELETE', '/v1/meters/a%2Fb')).toMatchObject({ status: 204, body: '' })
    expect((await api.meter.level('a/b')).level).toBe(0)
  })
})

describe('meters', () => {
  test('have the limits of the lines: one rule book', async () => {
    const api = new Api({ 'a/*': '2, 1/s' })
    expectProblem(await api.post('/v1/meters/b/fill'), 422, 'no-limit')
    expectProblem(await api.get('/v1/meters/b'), 422, 'no-limit')
    await api.call('PUT', '/v1/limits/b', { body: { limit: '7, 5000/s, tolerance 2ms' } })
    const { status, headers, body } = await api.post('/v1/meters/b/fill', { amount: 7 })
    expect([status, headers.get('ratelimit-policy'), body['pattern']]).toEqual([200, '"b";q=7;w=1', 'b'])
    expect((await api.enqueue('b', { data: 1 })).body).toMatchObject({ waiting: 1, capacity: 7 })
  })

  test('are apart from the lines of the same key', async () => {
    const api = new Api({ '*': '1, 1/h' })
    await api.enqueue('k')
    expect((await api.post('/v1/meters/k/fill')).status).toBe(200)
    expect((await api.shaper.inspect('k'))?.waiting).toBe(1)
  })

  test('answer 404 where there is none', async () => {
    const api = new Api(undefined, { meter: undefined })
    for (const answer of [
      await api.post('/v1/meters/k/fill'),
      await api.get('/v1/meters/k'),
      await api.call('DELETE', '/v1/meters/k'),
    ]) {
      expectProblem(answer, 404, 'not-found', { detail: 'this service has no meter' })
    }
  })

  test('answer 503 while their store is away, never a false yes', async () => {
    const api = new Api()
    const fail = () => Promise.reject(new BackendUnavailableError('redis://10.0.0.1 is away'))
    Object.assign(api.meter, { fill: fail, level: fail, canAccept: fail, drain: fail })
    for (const answer of [
      await api.post('/v1/meters/k/fill'),
      await api.get('/v1/meters/k?amount=1'),
      await api.call('DELETE', '/v1/meters/k'),
    ]) {
      expectProblem(answer, 503, 'temporary-reduced-capacity')
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(JSON.stringify(answer.body)).not.toContain('10.0.0.1')
    }
  })

  test('are filled once for each request', async () => {
    const api = new Api()
    const fill = vi.spyOn(api.meter, 'fill')
    await api.post('/v1/meters/k/fill', { amount: 2 })
    expect(fill).toHaveBeenCalledExactlyOnceWith('k', 2, undefined)
  })

  test.each([{}, 5, 'meter', { fill: () => undefined }])('must be meters, not %o', (meter) => {
    expect(() => new Api(undefined, { meter: meter as never })).toThrow('expected meter to be a Meter')
  })
})

describe('a limit with quotas', () => {
  const LIMITS = { '*': '40, 20/s, 100 tokens/minute 20 each' }

  test('counts the costs of a fill, and returns what each quota counts', async () => {
    const api = new Api(LIMITS)
    const answer = await api.post('/v1/meters/k/fill', { amount: 2, costs: { tokens: 70 } })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      accepted: true,
      level: 2,
      quotas: [
        {
          quota: '100 tokens/minute',
          unit: 'tokens',
          amount: 100,
          used: 70,
          windowMs: 60_000,
          roomInMs: 0,
        },
      ],
    })
    expect(meterSchema.parse(answer.body)).toEqual(answer.body)
    expect(fields(answer)).toEqual([
      '"*";q=40;w=2, "* 100 tokens/minute";q=100;w=60;qu="tokens"',
      '"*";r=38;t=1, "* 100 tokens/minute";r=30;qu="tokens"',
      null,
    ])
    for (const [query, accepted] of [
      ['', undefined],
      ['?amount=1', true],
      ['?costs=tokens=30', true],
      ['?costs=tokens=31', false],
      ['?amount=39&costs=tokens=1', false],
    ] as const) {
      const level = await api.call('GET', `/v1/meters/k${query}`)
      expect([query, (level.body as { accepted?: boolean }).accepted]).toEqual([query, accepted])
    }
  })

  test('refuses with the quota that has no room, and with 422 what is above a whole one', async () => {
    const api = new Api(LIMITS)
    await api.post('/v1/meters/k/fill', { costs: { tokens: 70 } })
    const refused = await api.post('/v1/meters/k/fill', { costs: { tokens: 31 } })
    const { retryAfterMs } = refused.body as { retryAfterMs: number }
    expectProblem(refused, 429, 'over-limit', {
      detail: `the quota of 100 tokens/minute has room for it in ${retryAfterMs} ms`,
      quota: '100 tokens/minute',
      'violated-policies': ['* 100 tokens/minute'],
    })
    expect(retryAfterMs).toBeGreaterThan(60_000 - 1)
    await api.pass(retryAfterMs)
    expect((await api.post('/v1/meters/k/fill', { costs: { tokens: 31 } })).status).toBe(200)
    const never = await api.post('/v1/meters/k/fill', { costs: { tokens: 101 } })
    expectProblem(never, 422, 'never-fits', {
      detail: 'the fill counts more than the whole quota of 100 tokens/minute',
      quota: '100 tokens/minute',
    })
  })

  test('refuses a unit that it does not count, and costs that are none', async () => {
    const api = new Api(LIMITS)
    const unknown = await api.post('/v1/meters/k/fill', { costs: { token: 5 } })
    expectProblem(unknown, 422, 'unknown-unit', { units: ['tokens'] })
    expect((await api.call('GET', '/v1/meters/k?costs=token=5')).status).toBe(422)
    for (const costs of [{ tokens: 0 }, { tokens: 0.5 }, { tokens: '5' }, [], 5]) {
      expect((await api.post('/v1/meters/k/fill', { costs })).status).toBe(422)
    }
  })
})

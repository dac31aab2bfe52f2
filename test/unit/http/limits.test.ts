import { hostname } from 'node:os'
import { setImmediate as passTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ruleBookSchema, ruleSchema } from '../../../src/http/rule-schemas.ts'
import { Api, expectProblem, sha256 } from './api.ts'

const CODE = { '*': '5, 2/s', 'sms/acme': '50, 10/s' }
const FROM_CODE = { origin: 'code', by: `${hostname()}:${process.pid}`, at: 0 }

describe('the rule book', () => {
  test('is changed once each time the event loop comes round', async () => {
    const api = new Api(CODE)
    let made = 0
    api.shaper.on('limit', () => made++)
    const limit = { limit: '9, 9/s' }
    const changes = ['a', 'b', 'c', 'd'].map((key) => api.call('PUT', `/v1/limits/${key}`, { body: limit }))
    const removal = api.call('DELETE', '/v1/limits/sms%2Facme')
    const counts = [0]
    while (made < 5) {
      await passTurn()
      counts.push(made)
    }
    expect(Math.max(...counts.slice(1).map((count, index) => count - counts[index]!))).toBe(1)
    for (const { status } of await Promise.all(changes)) expect(status).toBe(200)
    expect((await removal).status).toBe(204)
  })

  test('is listed, every rule with its origin', async () => {
    const api = new Api(CODE)
    const { body, headers } = await api.get('/v1/limits')
    expect(ruleBookSchema.parse(body)).toEqual({
      version: 1,
      limits: [
        { pattern: '*', limit: '5, 2/s', ...FROM_CODE },
        { pattern: 'sms/acme', limit: '50, 10/s', ...FROM_CODE },
      ],
      unset: [],
      local: [],
    })
    expect(headers.get('etag')).toBe('"1"')
  })

  test.each(['sms/acme', 'sms%2Facme'])('shows the rule of a pattern: %s', async (pattern) => {
    const { status, body } = await new Api(CODE).get(`/v1/limits/${pattern}`)
    expect(status).toBe(200)
    expect(ruleSchema.parse(body)).toEqual({ pattern: 'sms/acme', limit: '50, 10/s', ...FROM_CODE })
  })

  test('shows patterns with a star, and knows no others', async () => {
    const api = new Api(CODE)
    expect((await api.get('/v1/limits/*')).body).toMatchObject({ pattern: '*' })
    expect((await api.get('/v1/limits/%2A')).body).toMatchObject({ pattern: '*' })
    expectProblem(await api.get('/v1/limits/sms'), 404, 'not-found')
  })

  test.each([
    [
      { capacity: 5, rate: '1/s' },
      [
        {
          pointer: '#/limit',
          detail: "expected limit to be a text such as '100, 10/s', or { capacity, rate }",
        },
        { pointer: '#/capacity', detail: 'unknown field "capacity": did you mean limit.capacity?' },
        { pointer: '#/rate', detail: 'unknown field "rate": did you mean limit.rate?' },
      ],
    ],
    [
      { limit: { capacity: 5, rat: '1/s' } },
      [
        {
          pointer: '#/limit/rate',
          detail: "expected the rate to be a text such as '10/s', or { count, per }",
        },
        { pointer: '#/limit/rat', detail: 'unknown field "rat": did you mean rate?' },
      ],
    ],
    [
      { limit: { capacity: 5, rate: '1/s', brand: 'new' } },
      [
        {
          pointer: '#/limit/brand',
          detail:
            'unknown field "brand": known are capacity, rate, tolerance, warmUp, coldRate, quotas, concurrency',
        },
      ],
    ],
    [
      { limit: { capacity: '5', rate: '1/s' } },
      [{ pointer: '#/limit/capacity', detail: 'expected a number, got: string' }],
    ],
    [
      { limit: { rate: '1/s' } },
      [{ pointer: '#/limit/capacity', detail: 'expected a number, got: nothing' }],
    ],
    [
      { limit: { capacity: 1, rate: '1/s', tolerance: 5 } },
      [
        {
          pointer: '#/limit/tolerance',
          detail: "expected the tolerance to be a duration such as '2ms', or 0 for strict spacing",
        },
      ],
    ],
  ])('says what is wrong with %j', async (body, errors) => {
    const answer = await new Api(CODE).call('PUT', '/v1/limits/k', { body })
    expectProblem(answer, 422, 'invalid')
    expect(answer.body.errors).toEqual(errors)
  })

  test('takes a limit set by hand, and records who set it and when', async () => {
    const tokens = [{ name: 'ops', sha256: sha256('t'), scopes: ['admin'] as const, prefixes: [] }]
    const api = new Api(CODE, { tokens })
    await api.pass(1_234)
    const { status, body } = await api.call('PUT', '/v1/limits/sms/acme', {
      token: 't',
      body: { limit: '500, 100/s' },
    })
    expect(status).toBe(200)
    const rule = { pattern: 'sms/acme', limit: '500, 100/s', origin: 'override', by: 'ops', at: 1_234 }
    expect(ruleSchema.parse(body)).toEqual(rule)
    expect(api.shaper.limits.resolve('sms/acme/1')).toEqual(rule)
    await api.call('DELETE', '/v1/limits/sms/acme', { token: 't' })
    const book = await api.call('GET', '/v1/limits', { token: 't' })
    expect(ruleBookSchema.parse(book.body).unset).toEqual([{ pattern: 'sms/acme', by: 'ops', at: 1_234 }])
    expect(api.shaper.limits.overrides()).toEqual([{ pattern: 'sms/acme', by: 'ops', at: 1_234 }])
  })

  test('takes a limit as an object, too', async () => {
    const api = new Api(CODE)
    const limit = { capacity: 7, rate: { count: 1, per: '2s' }, tolerance: '1ms' }
    const { body } = await api.call('PUT', '/v1/limits/mail%2F*', { body: { limit } })
    expect(body).toMatchObject({ pattern: 'mail/*', limit: '7, every 2s, tolerance 1ms', by: 'anonymous' })
  })

  test('takes a warm-up, as text and in an object', async () => {
    const api = new Api(CODE)
    const put = async (limit: unknown) => (await api.call('PUT', '/v1/limits/mail', { body: { limit } })).body
    const limit = { capacity: 7, rate: '10/s', warmUp: '30s', coldRate: { count: 1, per: '2s' } }
    expect(await put(limit)).toMatchObject({ limit: '7, 10/s, warm-up 30s from every 2s' })
    expect(await put('7, 10/s, warm-up 30s')).toMatchObject({ limit: '7, 10/s, warm-up 30s' })
    expectProblem(
      await api.call('PUT', '/v1/limits/mail', { body: { limit: { ...limit, coldrate: '1/s' } } }),
      422,
      'invalid',
    )
  })

  test('applies a new limit to jobs that wait already', async () => {
    const api = new Api({ '*': '5, 1/s' })
    const starts: number[] = []
    api.shaper.on('departed', ({ at }) => void starts.push(at))
    api.shaper.work(() => undefined)
    for (let job = 0; job < 4; job++) await api.enqueue('k')
    await api.pass(0)
    await api.call('PUT', '/v1/limits/k', { body: { limit: '5, 10/s' } })
    await api.pass(2_000)
    expect(starts).toHaveLength(4)
    expect(starts[3]! - starts[1]!).toBe(200)
  })

  test('drops a rule that code sets, until a reset restores it', async () => {
    const api = new Api(CODE)
    expect((await api.call('DELETE', '/v1/limits/sms%2Facme')).status).toBe(204)
    expect(api.shaper.limits.resolve('sms/acme')).toMatchObject({ pattern: '*' })
    expectProblem(await api.call('DELETE', '/v1/limits/sms%2Facme'), 404, 'not-found')
    expect((await api.call('DELETE', '/v1/limits/sms%2Facme?override=only')).status).toBe(204)
    expect(api.shaper.limits.resolve('sms/acme')).toMatchObject({ pattern: 'sms/acme', origin: 'code' })
    expectProblem(await api.call('DELETE', '/v1/limits/sms%2Facme?override=only'), 404, 'not-found')
    expectProblem(await api.call('DELETE', '/v1/limits/sms%2Facme?override=all'), 422, 'invalid')
    expectProblem(await api.call('DELETE', '/v1/limits/sms%2Facme?overide=only'), 422, 'invalid')
    expect(api.shaper.limits.resolve('sms/acme')).toMatchObject({ pattern: 'sms/acme', origin: 'code' })
  })

  test.each([
    {},
    { limit: '' },
    { limit: '5' },
    { limit: '5, 0/s' },
    { limit: '0, 1/s' },
    { limit: '5, 99999/s' },
    { limit: null },
    { limit: 5 },
    { limit: [5, '1/s'] },
    { limit: { capacity: 5 } },
    { limit: { capacity: '5', rate: '1/s' } },
    { limit: { capacity: 5, rate: '1/s', burst: 3 } },
    { limit: { capacity: 5, rate: { count: 1, per: 's', x: 1 } } },
    { limit: '5, 1/s', by: 'me' },
    { limit: 'x'.repeat(201) },
  ])('refuses %j, and stays as it is', async (body) => {
    const api = new Api(CODE)
    const before = api.shaper.limits.list()
    expectProblem(await api.call('PUT', '/v1/limits/sms', { body }), 422, 'invalid')
    expect(api.shaper.limits.list()).toEqual(before)
  })

  test('says where in a limit the fault is', async () => {
    const body = { limit: { capacity: 'x', rate: '1/s', burst: 3 } }
    const { body: problem } = await new Api(CODE).call('PUT', '/v1/limits/sms', { body })
    expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(['#/limit/capacity', '#/limit/burst'])
  })

  test.each(['a%00b', 'a%0Db', 'x'.repeat(257), 'a/__proto__'])('refuses the pattern %s', async (pattern) => {
    const api = new Api(CODE)
    expectProblem(
      await api.call('PUT', `/v1/limits/${pattern}`, { body: { limit: '5, 1/s' } }),
      422,
      'invalid',
    )
    expect(api.shaper.limits.list()).toHaveLength(2)
  })
})

describe('the version of the rule book', () => {
  const change = (api: Api, method: string, ifMatch?: string, query = '') => {
    const headers: Record<string, string> = ifMatch === undefined ? {} : { 'If-Match': ifMatch }
    const body = method === 'PUT' ? { body: { limit: '7, 1/s' } } : {}
    return api.call(method, `/v1/limits/sms/acme${query}`, { headers, ...body })
  }

  test.each(['"1"', 'W/"1"', '*', undefined])('a change that is meant for %s is made', async (ifMatch) => {
    const api = new Api(CODE)
    expect((await change(api, 'PUT', ifMatch)).status).toBe(200)
    const { body, headers } = await api.get('/v1/limits/sms/acme')
    expect([body['limit'], headers.get('etag')]).toEqual(['7, 1/s', '"2"'])
  })

  test.each([
    ['PUT', ''],
    ['DELETE', ''],
    ['DELETE', '?override=only'],
  ])('%s for another one is refused with 412%s, and changes nothing', async (method, query) => {
    const api = new Api(CODE)
    await change(api, 'PUT')
    const before = api.shaper.limits.list()
    const answer = await change(api, method, '"1"', query)
    expectProblem(answer, 412, 'rule-book-changed')
    expect(answer.body).toMatchObject({ version: 2, detail: expect.stringContaining('expected version 1') })
    expect([api.shaper.limits.version, api.shaper.limits.list()]).toEqual([2, before])
    expect((await change(api, method, '"2"', query)).status).toBeLessThan(300)
  })

  test('of two changes to the same version only one succeeds', async () => {
    const api = new Api(CODE)
    const etag = (await api.get('/v1/limits')).headers.get('etag')!
    const put = (limit: string) =>
      api.call('PUT', '/v1/limits/sms', { body: { limit }, headers: { 'If-Match': etag } })
    const answers = await Promise.all([put('1, 1/s'), put('2, 1/s')])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
  })

  test.each(['1', '"1', '"one"', '"1", "2"', '""', '"-1"', '"1e3"'])(
    'what is no tag is: %s',
    async (ifMatch) => {
      const api = new Api(CODE)
      expectProblem(await change(api, 'PUT', ifMatch), 400, 'bad-request')
      expect(api.shaper.limits.version).toBe(1)
    },
  )
})

import { parseList } from 'structured-headers'
import { expect, test, vi } from 'vitest'
import { acceptedSchema, forecastSchema, verdictsSchema } from '../../../src/http/verdict-schemas.ts'
import { jobSchema } from '../../../src/http/view-schemas.ts'
import { BackendUnavailableError } from '../../../src/index.ts'
import { Api, expectProblem } from './api.ts'

const OPENAI = '100, 10/s, 1000 tokens/minute 400 each'

test('a job counts its costs in the quotas of their unit, and its view has them', async () => {
  const api = new Api({ '*': OPENAI })
  const first = await api.enqueue('k', { data: 1, id: 'j1', costs: { tokens: 900 } })
  expect(acceptedSchema.parse(first.body)).toMatchObject({ waitMs: 0 })
  const second = await api.enqueue('k', { data: 1, costs: { tokens: 200 } })
  // The 900 count for a minute and at most a sub-window of it.
  expect(Number(second.body['waitMs'])).toBeGreaterThanOrEqual(60_000)
  expect(second.body['waitMs']).toBeLessThanOrEqual(61_000)
  expect(jobSchema.parse((await api.get('/v1/jobs/j1')).body)).toMatchObject({ costs: { tokens: 900 } })
  const plain = await api.enqueue('k', { data: 1, id: 'j3' })
  expect(plain.status).toBe(202)
  expect((await api.get('/v1/jobs/j3')).body).not.toHaveProperty('costs')
})

test('many jobs have costs each, and a verdict names the quota that one exceeds alone', async () => {
  const api = new Api({ '*': OPENAI })
  const jobs = [100, 950, 1_001].map((tokens) => ({ key: 'k', data: 1, costs: { tokens } }))
  const { status, body } = await api.post('/v1/jobs', { jobs })
  expect(status).toBe(200)
  const [one, two, three] = verdictsSchema.parse(body).verdicts
  expect(one).toMatchObject({ status: 202, waitMs: 0 })
  expect(Number(two && 'waitMs' in two && two.waitMs)).toBeGreaterThanOrEqual(60_000)
  expect(three).toMatchObject({
    status: 422,
    type: 'urn:velvet-rope:problem:too-costly',
    quota: '1000 tokens/minute',
    detail: 'the job alone counts more than the whole quota of 1000 tokens/minute',
  })
})

test('a job that exceeds a quota alone is refused with that quota, and with no time to retry', async () => {
  const api = new Api({ '*': OPENAI })
  const answer = await api.enqueue('k', { data: 1, costs: { tokens: 1_001 } })
  expectProblem(answer, 422, 'too-costly')
  expect(answer.body).toMatchObject({ quota: '1000 tokens/minute' })
  expect(answer.body).not.toHaveProperty('retryAfterMs')
})

test('a refusal names the policy that refuses the job, by its name in RateLimit-Policy', async () => {
  const api = new Api({
    'o"ai': '3, 10/s, 1/minute, 1000 tokens/minute 400 each',
    pace: '9, 1/s, 99/minute',
    place: '9, 10/s, 1/minute, 1 at once',
  })
  const violated = async (key: string, job: object) => {
    const { body, headers } = await api.enqueue(key, { data: 1, ...job })
    const policies = parseList(headers.get('ratelimit-policy') ?? '').map(([name]) => name)
    for (const name of (policies.length > 0 && (body['violated-policies'] as string[])) || []) {
      expect(policies).toContain(name)
    }
    return [body['type'], body['violated-policies']]
  }
  const deadline = 'urn:velvet-rope:problem:deadline'
  expect(await violated('o"ai', { costs: { tokens: 1_001 } })).toEqual([
    'urn:velvet-rope:problem:too-costly',
    ['o"ai 1000 tokens/minute'],
  ])
  await api.enqueue('o"ai')
  expect(await violated('o"ai', { deadlineMs: 1_000 })).toEqual([deadline, ['o"ai 1/minute']])
  await api.enqueue('o"ai')
  await api.enqueue('o"ai')
  expect(await violated('o"ai', {})).toEqual(['urn:velvet-rope:problem:queue-full', ['o"ai']])
  // The line is full, too: which quota holds a job behind it is not told.
  expect(await violated('o"ai', { deadlineMs: 61_500 })).toEqual([deadline, undefined])
  for (let job = 0; job < 3; job++) await api.enqueue('pace')
  expect(await violated('pace', { deadlineMs: 1_000 })).toEqual([deadline, ['pace']])
  api.shaper.work(() => new Promise(() => undefined))
  await api.enqueue('place')
  await api.pass(1_000)
  expect(await violated('place', { deadlineMs: 1_000 })).toEqual([deadline, undefined])
})

test('in a batch, which reads no line again, a missed deadline names no policy where a quota may be the cause', async () => {
  const api = new Api({ k: '9, 10/s, 1/minute', pace: '9, 1/s' })
  const jobs = [
    { key: 'k' },
    { key: 'k', deadlineMs: 1_000 },
    { key: 'pace' },
    { key: 'pace', deadlineMs: 1 },
  ]
  const { body } = await api.post('/v1/jobs', { jobs: jobs.map((job) => ({ data: 1, ...job })) })
  const refused = verdictsSchema.parse(body).verdicts.filter(({ status }) => status === 429)
  expect(refused).toMatchObject([{ key: 'k' }, { key: 'pace', 'violated-policies': ['pace'] }])
  expect(refused[0]).not.toHaveProperty('violated-policies')
})

test('a time that free places decide about is an estimate', async () => {
  const api = new Api({ '*': '2, 10/s, 1 at once' })
  const accepted = await api.enqueue('k')
  expect(acceptedSchema.parse(accepted.body)).toMatchObject({ isEstimate: true })
  await api.enqueue('k')
  const refused = await api.enqueue('k')
  expectProblem(refused, 429, 'queue-full')
  expect(refused.body).toMatchObject({ isEstimate: true })
  const { body } = await api.get('/v1/buckets/k/forecast')
  expect(forecastSchema.parse(body)).toMatchObject({ accepted: false, isEstimate: true })
  const certain = new Api({ '*': '2, 10/s' })
  expect((await certain.enqueue('k')).body).not.toHaveProperty('isEstimate')
})

test('a forecast takes costs as text', async () => {
  const api = new Api({ '*': OPENAI })
  await api.enqueue('k', { data: 1, costs: { tokens: 900 } })
  const forecast = async (query: string) =>
    forecastSchema.parse((await api.get(`/v1/buckets/k/forecast?${query}`)).body)
  const fitting = await forecast('costs=tokens=100')
  expect(fitting).toMatchObject({ accepted: true, waitMs: 100 })
  expect(fitting).not.toHaveProperty('uncounted')
  expect(await forecast('costs=tokens%3D101,images=2')).toMatchObject({
    accepted: true,
    waitMs: 61_000,
    uncounted: ['images'],
  })
  expect(await forecast('costs=tokens=1001')).toMatchObject({ accepted: false, quota: '1000 tokens/minute' })
})

test.each(['tokens', 'tokens=', 'tokens=1.5', 'tokens=0', 'tokens=1,tokens=2', 'per=1', ''])(
  'a forecast refuses the costs %j',
  async (costs) => {
    const answer = await new Api({ '*': OPENAI }).get(`/v1/buckets/k/forecast?costs=${costs}`)
    expectProblem(answer, 422, 'invalid')
    expect(String(answer.body['detail']).match(/got:/g)).toHaveLength(1)
  },
)

test.each([{ tokens: 0 }, { tokens: 1.5 }, { tokens: '7' }, { per: 1 }, [1], 7, { 'to kens': 1 }])(
  'a job with the costs %j is refused, and the answer says where',
  async (costs) => {
    const answer = await new Api({ '*': OPENAI }).enqueue('k', { data: 1, costs })
    expectProblem(answer, 422, 'invalid')
    expect(answer.body.errors?.[0]).toMatchObject({
      pointer: expect.stringMatching(/^#\/costs/),
      detail: expect.stringMatching(
        /^expected (?:a whole number from 1 to|the name to be a name of|an object such as \{ tokens)/,
      ),
    })
  },
)

test('a limit is set as an object with quotas and a bound on what runs at once', async () => {
  const api = new Api()
  const limit = {
    capacity: 20,
    rate: '5/s',
    quotas: ['2000/day', { amount: 90_000, per: 'minute', unit: 'tokens', each: 1_200 }],
    concurrency: 50,
  }
  const answer = await api.call('PUT', '/v1/limits/k', { body: { limit } })
  expect(answer.body).toMatchObject({
    limit: '20, 5/s, 2000/day, 90000 tokens/minute 1200 each, 50 at once',
  })
  const wrong = { ...limit, quotas: [{ amount: 90_000, per: 'minute', unit: 'tokens' }] }
  const refused = await api.call('PUT', '/v1/limits/k', { body: { limit: wrong } })
  expectProblem(refused, 422, 'invalid')
  expect(refused.body['detail']).toContain('a default for jobs that name no amount')
  expect(refused.body.errors?.[0]).toMatchObject({ pointer: '#/limit' })
  const unknown = { ...limit, quotas: [{ amount: 1, per: 'day', units: 'tokens' }] }
  const misspelt = await api.call('PUT', '/v1/limits/k', { body: { limit: unknown } })
  expect(misspelt.body.errors?.[0]).toMatchObject({ pointer: '#/limit/quotas/0/units' })
})

test('RateLimit-Policy has each part of the limit, with its seconds and its unit', async () => {
  const api = new Api({
    'o"ai': '100, 10/s, 2000/day, 90000 tokens/minute 400 each, 50 per week in Europe/Berlin, 7 at once',
  })
  const { headers } = await api.enqueue('o"ai')
  const policies = parseList(headers.get('ratelimit-policy')!).map(([name, parameters]) => [
    name,
    Object.fromEntries(parameters),
  ])
  expect(policies).toEqual([
    ['o"ai', { q: 100, w: 10 }],
    ['o"ai 2000/day', { q: 2_000, w: 86_400 }],
    ['o"ai 90000 tokens/minute', { q: 90_000, w: 60, qu: 'tokens' }],
    ['o"ai 50 per week in Europe/Berlin', { q: 50, w: 604_800 }],
    ['o"ai 7 at once', { q: 7, qu: 'concurrent-requests' }],
  ])
  expect(
    parseList(headers.get('ratelimit')!).map(([name, left]) => [name, Object.fromEntries(left)]),
  ).toEqual([
    ['o"ai', { r: 99, t: 0 }],
    ['o"ai 2000/day', { r: 2_000 }],
    ['o"ai 90000 tokens/minute', { r: 90_000, qu: 'tokens' }],
    ['o"ai 50 per week in Europe/Berlin', { r: 50 }],
    ['o"ai 7 at once', { r: 7, qu: 'concurrent-requests' }],
  ])
})

test('RateLimit says what is left of each part, and no time: the jobs that wait take the room first', async () => {
  const api = new Api({ '*': '2, 10/s, 1000 tokens/minute 400 each, 2 at once' })
  api.shaper.work(() => new Promise(() => undefined))
  const left = async (id: string) => {
    const { status, headers } = await api.enqueue('k', { data: 1, id, costs: { tokens: 900 } })
    const [, ...parts] = parseList(headers.get('ratelimit')!)
    return [status, ...parts.map(([, parameters]) => Object.fromEntries(parameters))]
  }
  const first = await left('a')
  expect(first).toEqual([202, { r: 1_000, qu: 'tokens' }, { r: 2, qu: 'concurrent-requests' }])
  await api.pass(1_000)
  const tokens = { r: 100, qu: 'tokens' }
  const places = { r: 1, qu: 'concurrent-requests' }
  // It takes what comes free after a minute.
  expect(await left('b')).toEqual([202, tokens, places])
  expect(await left('b')).toEqual([202, tokens, places])
  expect(await left('c')).toEqual([202, tokens, places])
  expect(await left('d')).toEqual([429, tokens, places])
})

test('RateLimit says when the next job departs, and not when the last one does that a quota holds', async () => {
  const api = new Api({ '*': '9, 10/s, 1000 tokens/minute 400 each' })
  const t = async (tokens: number) => {
    const { headers } = await api.enqueue('k', { data: 1, costs: { tokens } })
    return Object.fromEntries(parseList(headers.get('ratelimit')!)[0]![1])
  }
  expect(await t(900)).toEqual({ r: 8, t: 0 })
  // These wait for a minute, and the first departs at once.
  expect(await t(200)).toEqual({ r: 7, t: 0 })
  expect(await t(200)).toEqual({ r: 6, t: 0 })
  api.shaper.work(() => undefined)
  await api.pass(1_000)
  expect(await t(200)).toEqual({ r: 6, t: 60 })
  await api.pass(20_500)
  expect(await t(900)).toEqual({ r: 5, t: 40 })
})

test('a limit without further parts asks for no view of the bucket', async () => {
  const api = new Api({ '*': '9, 1/s', parts: '9, 1/s, 5/minute' })
  const inspect = vi.spyOn(api.shaper, 'inspect')
  await api.enqueue('k')
  expect(inspect).not.toHaveBeenCalled()
  inspect.mockRejectedValue(new BackendUnavailableError('Redis is away'))
  const { status, headers } = await api.enqueue('parts')
  expect([status, headers.get('ratelimit')]).toEqual([202, '"parts";r=8;t=0'])
})

import { describe, expect, test } from 'vitest'
import { verdictsSchema } from '../../../src/http/verdict-schemas.ts'
import { BackendUnavailableError, UnknownZoneError } from '../../../src/index.ts'
import { Api, expectProblem } from './api.ts'

const job = (key: string, more: object = {}) => ({ key, data: null, ...more })

describe('many jobs', () => {
  test('are answered with 202 and a verdict each, in order, when all were accepted', async () => {
    const api = new Api({ '*': '5, 2/s' })
    const { status, body } = await api.post('/v1/jobs', { jobs: [job('a', { id: '1' }), job('b'), job('a')] })
    expect(status).toBe(202)
    const { accepted, rejected, verdicts } = verdictsSchema.parse(body)
    expect([accepted, rejected]).toEqual([3, 0])
    expect(verdicts.map(({ status, key }) => [status, key])).toEqual([
      [202, 'a'],
      [202, 'b'],
      [202, 'a'],
    ])
    expect(verdicts[0]).toMatchObject({ id: '1', position: 1, waiting: 1, capacity: 5 })
    expect(verdicts[2]).toMatchObject({ position: 2, departsAt: 500, waitMs: 500 })
  })

  test('are answered with 200 when some were, with Retry-After of the latest', async () => {
    const api = new Api({ '*': '1, 1/s', slow: '1, 1/5s' })
    const answer = await api.post('/v1/jobs', {
      jobs: ['a', 'a', 'slow', 'slow'].map((key) => job(key)).concat(job('b', { cost: 9 })),
    })
    expect(answer.status).toBe(200)
    const { accepted, rejected, verdicts } = verdictsSchema.parse(answer.body)
    expect([accepted, rejected]).toEqual([2, 3])
    expect(verdicts.map(({ status }) => status)).toEqual([202, 429, 202, 429, 422])
    expect(verdicts[3]).toMatchObject({
      type: 'urn:velvet-rope:problem:queue-full',
      key: 'slow',
      retryAfterMs: 5_000,
      waiting: 1,
      capacity: 1,
    })
    expect(verdicts[4]).toMatchObject({ type: 'urn:velvet-rope:problem:too-costly', key: 'b' })
    expect(answer.headers.get('retry-after')).toBe('5')
  })

  test('are answered with 429 when none was, and some may come back', async () => {
    const api = new Api({ '*': '1, 1/s' })
    await api.enqueue('a')
    const answer = await api.post('/v1/jobs', { jobs: [job('a'), job('b', { cost: 9 })] })
    expectProblem(answer, 429, 'none-accepted', { accepted: 0, rejected: 2, retryAfterMs: 1_000 })
    const { accepted, rejected, verdicts } = answer.body
    expect(
      verdictsSchema.parse({ accepted, rejected, verdicts }).verdicts.map(({ status }) => status),
    ).toEqual([429, 422])
    expect(answer.headers.get('retry-after')).toBe('1')
  })

  test('are answered with 422 when none was and none ever can be', async () => {
    const api = new Api({ a: '1, 1/s' })
    const answer = await api.post('/v1/jobs', { jobs: [job('a', { cost: 9 }), job('unknown')] })
    expectProblem(answer, 422, 'none-acceptable', {
      verdicts: [
        { status: 422, type: 'urn:velvet-rope:problem:too-costly' },
        { status: 422, type: 'urn:velvet-rope:problem:no-limit' },
      ],
    })
    expect(answer.headers.get('retry-after')).toBeNull()
  })

  test('that cannot be kept are answered with 503, which names no key', async () => {
    const api = new Api()
    api.shaper.enqueue = () => Promise.reject(new BackendUnavailableError('redis://:secret@10.0.0.1 is away'))
    const answer = await api.post('/v1/jobs', { jobs: [job('acme'), job('acme/1')] })
    expectProblem(answer, 503, 'temporary-reduced-capacity')
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(JSON.stringify(answer.body)).not.toMatch(/acme|secret|10\.0/)
  })

  test('under a limit whose time zone is not known here are answered with 503, and others are taken', async () => {
    const api = new Api()
    const enqueue = api.shaper.enqueue.bind(api.shaper)
    const fail = () => Promise.reject(new UnknownZoneError('y', 'America/Newtown', '2025b'))
    api.shaper.enqueue = (key, ...rest) => (key === 'y' ? fail() : enqueue(key, ...rest))
    const answer = await api.post('/v1/jobs', { jobs: [job('acme'), job('y')] })
    expect(answer.status).toBe(200)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(answer.body).toMatchObject({
      verdicts: [{ status: 202 }, { status: 503, detail: expect.stringContaining('"America/Newtown"') }],
    })
  })

  test('of which some could not be kept say which', async () => {
    const api = new Api()
    const enqueue = api.shaper.enqueue.bind(api.shaper)
    api.shaper.enqueue = (key, ...rest) =>
      key === 'away' ? Promise.reject(new BackendUnavailableError('away')) : enqueue(key, ...rest)
    const answer = await api.post('/v1/jobs', { jobs: [job('away'), job('here')] })
    expect(answer.status).toBe(200)
    expect(verdictsSchema.parse(answer.body).verdicts.map(({ status }) => status)).toEqual([503, 202])
    expect(answer.headers.get('retry-after')).toBe('1')
  })

  test('are all refused when one is invalid, with every fault and where it is', async () => {
    const api = new Api()
    const answer = await api.post('/v1/jobs', {
      jobs: [job('a'), job('a', { cost: 0 }), job(''), { key: 'a' }, job('a', { prio: 1 }), job('a\u0000')],
    })
    expectProblem(answer, 422, 'invalid')
    expect(answer.body.errors?.map(({ pointer }) => pointer)).toEqual([
      '#/jobs/1/cost',
      '#/jobs/2/key',
      '#/jobs/3/data',
      '#/jobs/4/prio',
      '#/jobs/5/key',
    ])
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test.each(['.', '..', 'a/../b'])('under the key %s are refused: no URL could name it', async (key) => {
    const api = new Api()
    const answer = await api.post('/v1/jobs', { jobs: [{ key, data: 1 }] })
    expectProblem(answer, 422, 'invalid')
    expect(answer.body.errors).toEqual([
      { pointer: '#/jobs/0/key', detail: expect.stringContaining('no segment . or ..') },
    ])
    await expect(api.shaper.enqueue(key, 1)).rejects.toMatchObject({ code: 'invalid-key' })
  })

  test('with a fault in each report the first twenty', async () => {
    const api = new Api()
    const answer = await api.post('/v1/jobs', { jobs: Array.from({ length: 200 }, () => ({})) })
    expectProblem(answer, 422, 'invalid')
    expect(answer.body.errors).toHaveLength(20)
  })

  test.each([
    [0, 422],
    [1, 202],
    [3, 202],
    [4, 422],
  ])('are 1 to maxBatch (3): %i of them are answered with %i', async (count, status) => {
    const api = new Api({ '*': '5, 1/s' }, { maxBatch: 3 })
    const answer = await api.post('/v1/jobs', { jobs: Array.from({ length: count }, () => job('k')) })
    expect(answer.status).toBe(status)
  })

  test('may be a thousand by default', async () => {
    const api = new Api({ '*': '5000, 1/s' })
    const jobs = (count: number) => ({ jobs: Array.from({ length: count }, () => job('k')) })
    expect((await api.post('/v1/jobs', jobs(1_000))).body['accepted']).toBe(1_000)
    expectProblem(await api.post('/v1/jobs', jobs(1_001)), 422, 'invalid')
  })
})

describe('the same batch again', () => {
  test('with its Idempotency-Key gets the first answers, and admits nothing', async () => {
    const api = new Api()
    const headers = { 'Idempotency-Key': 'batch-1' }
    const jobs = [job('a'), job('a'), job('b')]
    const first = await api.post('/v1/jobs', { jobs }, { headers })
    const again = await api.post('/v1/jobs', { jobs }, { headers })
    expect(again.status).toBe(202)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const idsOf = ({ body }: typeof first) =>
      verdictsSchema.parse(body).verdicts.map((one) => 'id' in one && one.id)
    expect(idsOf(again)).toEqual(idsOf(first))
    expect(new Set(idsOf(first)).size).toBe(3)
    expect((await api.shaper.audit()).admitted).toBe(3)
  })

  test('reports for each job whether it is a replay', async () => {
    const api = new Api()
    await api.enqueue('a', { data: null, id: 'x' })
    const answer = await api.post('/v1/jobs', { jobs: [job('a', { id: 'x' }), job('a', { id: 'y' })] })
    expect(verdictsSchema.parse(answer.body).verdicts.map((one) => 'replayed' in one)).toEqual([true, false])
    expect(answer.headers.get('idempotent-replayed')).toBeNull()
  })

  test('with an id that another job has refuses that one alone', async () => {
    const api = new Api()
    await api.enqueue('a', { data: 1, id: 'x' })
    const answer = await api.post('/v1/jobs', { jobs: [job('a', { id: 'x' }), job('a')] })
    expect(answer.status).toBe(200)
    expect(verdictsSchema.parse(answer.body).verdicts[0]).toMatchObject({
      status: 422,
      type: 'urn:velvet-rope:problem:idempotency-key-reused',
    })
  })
})

test('a thousand requests to be forwarded fit into one call; a megabyte is the end', async () => {
  const api = new Api({ '*': '100000, 1/s' })
  const data = {
    method: 'POST',
    url: 'https://api.example.com/v1/messages',
    body: { text: 'Your table is ready.' },
  }
  const jobs = Array.from({ length: 1_000 }, (_, index) => ({ key: `shop/${index}`, data }))
  expect((await api.post('/v1/jobs', { jobs })).status).toBe(202)
  const large = { jobs: [{ key: 'k', data: 'x'.repeat(1_048_576) }] }
  expectProblem(await api.post('/v1/jobs', large), 413, 'too-large')
})

test('data that the line does not take keep out no other job', async () => {
  const api = new Api(undefined, { batchLimitBytes: 4_000_000 })
  const { status, body } = await api.post('/v1/jobs', {
    jobs: [
      { key: 'k', data: 'x'.repeat(1_100_000) },
      { key: 'k', data: 1 },
    ],
  })
  expect(status).toBe(200)
  expect(verdictsSchema.parse(body).verdicts).toMatchObject([
    { status: 413, type: 'urn:velvet-rope:problem:too-large' },
    { status: 202 },
  ])
})

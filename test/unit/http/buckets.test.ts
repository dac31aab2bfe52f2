import { describe, expect, test } from 'vitest'
import { forecastSchema } from '../../../src/http/verdict-schemas.ts'
import { bucketPageSchema, bucketSchema } from '../../../src/http/view-schemas.ts'
import { Api, expectProblem } from './api.ts'

async function stocked(): Promise<Api> {
  const api = new Api({ '*': '4, 1/s' })
  for (const [key, count] of [
    ['a', 1],
    ['a/x', 4],
    ['ab', 3],
    ['b', 2],
  ] as const) {
    for (let job = 0; job < count; job++) await api.enqueue(encodeURIComponent(key))
  }
  return api
}

async function keysOf(api: Api, query: string): Promise<string[]> {
  const { status, body } = await api.get(`/v1/buckets${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return bucketPageSchema.parse(body).buckets.map(({ key }) => key)
}

describe('buckets', () => {
  test('are listed, the fullest first, with all that is known of them', async () => {
    const api = await stocked()
    const { body } = await api.get('/v1/buckets')
    const { buckets, total, cursor } = bucketPageSchema.parse(body)
    expect(buckets.map(({ key }) => key)).toEqual(['a/x', 'ab', 'b', 'a'])
    expect([total, cursor]).toEqual([4, undefined])
    expect(buckets[0]).toMatchObject({
      pattern: '*',
      limit: '4, 1/s',
      state: 'full',
      waiting: 4,
      fill: 1,
      jobs: 4,
    })
  })

  test.each([
    ['?prefix=a', ['a/x', 'ab', 'a']],
    ['?prefix=a%2F', ['a/x']],
    ['?minFill=0.5', ['a/x', 'ab', 'b']],
    ['?minFill=0.5&maxFill=0.9', ['ab', 'b']],
    ['?state=full', ['a/x']],
    ['?state=frozen', []],
    ['?sort=key', ['a', 'a/x', 'ab', 'b']],
    ['?under=a&sort=-key', ['a/x', 'a']],
    ['?pattern=*&sort=pattern', ['a', 'a/x', 'ab', 'b']],
    ['?pattern=unknown', []],
    ['?minOldestWaitMs=3600000', []],
    ['?minOldestWaitMs=0&sort=-capacity&limit=1', ['a']],
    ['?sort=-key', ['b', 'ab', 'a/x', 'a']],
    ['?sort=waiting&limit=2', ['a', 'b']],
  ])('answer the query %s', async (query, keys) => {
    expect(await keysOf(await stocked(), query)).toEqual(keys)
  })

  test('come page by page', async () => {
    const api = await stocked()
    const seen: string[] = []
    let query = '?limit=1&sort=key'
    for (let page = 0; page < 4; page++) {
      const { body } = await api.get(`/v1/buckets${query}`)
      const { buckets, cursor, total } = bucketPageSchema.parse(body)
      seen.push(...buckets.map(({ key }) => key))
      expect(total).toBe(4)
      query = `?limit=1&sort=key&cursor=${encodeURIComponent(cursor ?? '')}`
    }
    expect(seen).toEqual(['a', 'a/x', 'ab', 'b'])
  })

  test.each([
    '?limit=0',
    '?limit=1001',
    '?limit=1.5',
    '?limit=NaN',
    '?limit=1e3',
    '?limit=',
    '?minFill=-1',
    '?minFill=2',
    '?under=',
    '?pattern=',
    '?minOldestWaitMs=-1',
    '?minOldestWaitMs=soon',
    '?minFill=Infinity',
    '?state=asleep',
    '?sort=data',
    '?cursor=nonsense',
    '?cursor=eyJfX3Byb3RvX18iOjF9',
    '?limit=1&limit=2',
    '?__proto__=1',
    '?prefx=a',
  ])('refuse the query %s', async (query) => {
    expectProblem(await (await stocked()).get(`/v1/buckets${query}`), 422, 'invalid')
  })

  test('refuse a query that is too long', async () => {
    expectProblem(await new Api().get(`/v1/buckets?prefix=${'a'.repeat(2_001)}`), 422, 'invalid')
    expect((await new Api().get(`/v1/buckets?prefix=${'a'.repeat(2_000)}`)).status).toBe(200)
  })

  test('are shown one by one; one that holds nothing is not there', async () => {
    const api = await stocked()
    const { status, body } = await api.get('/v1/buckets/a/x')
    expect(status).toBe(200)
    expect(bucketSchema.parse(body)).toMatchObject({ key: 'a/x', waiting: 4, durability: 'memory' })
    expectProblem(await api.get('/v1/buckets/unknown'), 404, 'not-found')
  })
})

describe('a forecast', () => {
  test('returns the verdict, and admits nothing', async () => {
    const api = await stocked()
    const yes = await api.get('/v1/buckets/ab/forecast')
    expect(forecastSchema.parse(yes.body)).toEqual({
      accepted: true,
      key: 'ab',
      position: 4,
      waiting: 4,
      capacity: 4,
      departsAt: 3_000,
      waitMs: 3_000,
    })
    const no = await api.get('/v1/buckets/ab/forecast?cost=2')
    expect(no.status).toBe(200)
    expect(forecastSchema.parse(no.body)).toMatchObject({
      accepted: false,
      reason: 'full',
      waiting: 3,
      capacity: 4,
    })
    const never = await api.get('/v1/buckets/ab/forecast?cost=9')
    expect(forecastSchema.parse(never.body)).toEqual({
      accepted: false,
      reason: 'too-costly',
      key: 'ab',
      waiting: 3,
      capacity: 4,
    })
    expect((await api.shaper.audit()).admitted).toBe(10)
  })

  test('has whole milliseconds, as the answer to an enqueue has', async () => {
    const api = new Api({ '*': '5, 3/s' })
    await api.shaper.enqueue('k', null)
    const { body } = await api.get('/v1/buckets/k/forecast')
    expect(body).toMatchObject({ departsAt: 334, waitMs: 334 })
    expect(await api.call('POST', '/v1/buckets/k/jobs', { body: { data: null } })).toMatchObject({
      body: { departsAt: 334, waitMs: 334 },
    })
  })

  test.each(['?cost=0', '?cost=1.5', '?cost=x', '?cost=99999999999', '?costs=1'])(
    'refuses the query %s',
    async (query) => {
      expectProblem(await new Api().get(`/v1/buckets/k/forecast${query}`), 422, 'invalid')
    },
  )

  test('needs a limit', async () => {
    expectProblem(await new Api({ a: '1, 1/s' }).get('/v1/buckets/k/forecast'), 422, 'no-limit')
  })
})

describe('a bucket is', () => {
  test('frozen for a while', async () => {
    const api = await stocked()
    const answer = await api.post('/v1/buckets/a%2Fx/freeze', { forMs: 5_000 })
    expect([answer.status, answer.body]).toEqual([204, ''])
    expect(await api.shaper.inspect('a/x')).toMatchObject({ state: 'frozen', frozenUntil: 5_000 })
  })

  test('unfrozen before its end, and 404 where nothing is frozen', async () => {
    const api = await stocked()
    await api.post('/v1/buckets/a%2Fx/freeze', { forMs: 3_600_000 })
    const answer = await api.call('DELETE', '/v1/buckets/a%2Fx/freeze')
    expect([answer.status, answer.body]).toEqual([204, ''])
    expect(await api.shaper.inspect('a/x')).toMatchObject({ state: 'full' })
    expectProblem(await api.call('DELETE', '/v1/buckets/a%2Fx/freeze'), 404, 'not-found')
  })

  test('paused and resumed, without a body', async () => {
    const api = await stocked()
    expect((await api.call('POST', '/v1/buckets/b/pause')).status).toBe(204)
    expect(await api.shaper.inspect('b')).toMatchObject({ state: 'paused', paused: true })
    expect((await api.call('POST', '/v1/buckets/b/resume')).status).toBe(204)
    expect(await api.shaper.inspect('b')).toMatchObject({ paused: false })
  })

  test.each([
    {},
    { forMs: 0 },
    { forMs: -1 },
    { forMs: '1' },
    { forMs: 1e12 },
    { forMs: 1, why: '' },
    [],
    5,
    null,
  ])('not frozen by %j', async (body) => {
    const api = await stocked()
    expectProblem(await api.post('/v1/buckets/b/freeze', body), 422, 'invalid')
    expect(await api.shaper.inspect('b')).toMatchObject({ state: 'waiting' })
  })
})

test('a family that has a total is frozen, paused and resumed as a bucket is', async () => {
  const api = new Api({ '*': '10, 1/s', 'a/': '20, 1/s' })
  const job = (id: string) => api.post('/v1/buckets/a%2F1/jobs', { data: 1, id })
  expect((await api.post('/v1/buckets/a%2F/freeze', { forMs: 60_000 })).status).toBe(204)
  expect((await job('first')).body).toMatchObject({ key: 'a/1', waitMs: 60_000 })
  expect((await api.call('DELETE', '/v1/buckets/a%2F/freeze')).status).toBe(204)
  expectProblem(await api.call('DELETE', '/v1/buckets/a%2F/freeze'), 404, 'not-found')
  for (const verb of ['pause', 'resume']) {
    expect((await api.post(`/v1/buckets/a%2F/${verb}`)).status).toBe(204)
  }
  expectProblem(await api.post('/v1/buckets/b%2F/freeze', { forMs: 10 }), 422, 'no-limit')
})

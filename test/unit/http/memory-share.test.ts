import { describe, expect, test } from 'vitest'
import type { HttpOptions } from '../../../src/http.ts'
import { Meter } from '../../../src/meter.ts'
import { type Answer, Api, expectProblem, sha256 } from './api.ts'

const LIMIT = 1_000_000
const DATA = 'x'.repeat(10_000)
const LIMITED = { body: { limit: '5, 1/s' } }
const TENANT = { token: 'of-tenants' }
const OPERATOR = { token: 'of-the-operator' }
/** Both may do everything, one of them with every key. */
const TOKENS = [
  { name: 'tenants', sha256: sha256(TENANT.token), scopes: ['admin'] as const, prefixes: ['hog', 'other'] },
  { name: 'operator', sha256: sha256(OPERATOR.token), scopes: ['admin'] as const, prefixes: [] },
]

/** An API whose heap holds what its lines and meters hold, and nothing else. */
function small(
  overload: HttpOptions['overload'] = {},
  jobDefaults = { keepFinished: 0 },
  tokens: HttpOptions['tokens'] = [],
): Api {
  const segments = ['hog', 'other', 'third']
  const useOf = (key: string) => api.shaper.heap.of(key) + api.meter.heap.of(key)
  const heap = () => ({ used: segments.reduce((sum, segment) => sum + useOf(segment), 0), limit: LIMIT })
  const api: Api = new Api(
    { '*': '100000, 1/h' },
    { heap, overload: { maxHeapShare: 1, heapReserveMb: 0, ...overload }, jobDefaults, tokens },
  )
  return api
}

/** Asks until it is refused; returns the refusal. */
async function fill(ask: (n: number) => Promise<Answer>): Promise<Answer> {
  for (let n = 0; n < 10_000; n++) {
    const answer = await ask(n)
    if (answer.status >= 400) return answer
  }
  throw new Error('it was never refused')
}

const enqueue = (api: Api, key: string) => api.enqueue(key, { data: DATA })

describe('of the memory, one first segment of keys', () => {
  test('may have half, and leaves the rest to others', async () => {
    const api = small()
    const refused = await fill((n) => enqueue(api, `hog%2F${n}`))
    expectProblem(refused, 429, 'memory-share', {
      detail: 'the first segment "hog" has as much of the memory as one may have, until jobs of it end',
      retryAfterMs: 5_000,
    })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(api.shaper.heap.of('hog') / LIMIT).toBeCloseTo(0.5, 1)
    for (let n = 0; n < 20; n++) expect((await enqueue(api, 'other')).status).toBe(202)
    // The next one that takes what it can has a third: what two could both have beside one more.
    expectProblem(await fill((n) => enqueue(api, `other%2F${n}`)), 429, 'memory-share')
    expect(api.shaper.heap.of('other') / LIMIT).toBeCloseTo(0.33, 1)
    expect((await enqueue(api, 'third')).status).toBe(202)
  })

  test('may have another share by the settings, or all', async () => {
    const most = small({ maxSegmentShare: 0.8 })
    expectProblem(await fill((n) => enqueue(most, `hog%2F${n}`)), 429, 'memory-share')
    expect(most.shaper.heap.of('hog') / LIMIT).toBeCloseTo(0.8, 1)
    const all = small({ maxSegmentShare: 1 })
    expectProblem(await fill((n) => enqueue(all, `hog%2F${n}`)), 503, 'temporary-reduced-capacity')
  })

  const LONG = 'x'.repeat(200)
  test.each<[string, (api: Api, key: string) => Promise<Answer>]>([
    ['jobs', (api, key) => api.enqueue(key, { data: null }, TENANT)],
    ['pauses', (api, key) => api.post(`/v1/buckets/${key}/pause`, undefined, TENANT)],
    ['freezes', (api, key) => api.post(`/v1/buckets/${key}/freeze`, { forMs: 3_600_000 }, TENANT)],
    ['limits', (api, key) => api.call('PUT', `/v1/limits/${key}`, { ...LIMITED, ...TENANT })],
    [
      'limits of this process',
      (api, key) => api.call('PUT', `/v1/limits/${key}?scope=local`, { ...LIMITED, ...TENANT }),
    ],
    ['meters', (api, key) => api.post(`/v1/meters/${key}/fill`, { amount: 1 }, TENANT)],
  ])('leaves room whatever it fills it with: %s', async (_what, ask) => {
    const api = small({}, { keepFinished: 0 }, TOKENS)
    const refused = await fill((n) => ask(api, `hog%2F${n}-${LONG}`))
    expectProblem(refused, 429, 'memory-share')
    for (const key of ['other', 'other%2Fx']) expect((await ask(api, key)).status).toBeLessThan(300)
    // What gives room is never refused.
    const key = `hog%2F0-${LONG}`
    expect((await api.post(`/v1/buckets/${key}/resume`, undefined, TENANT)).status).toBe(204)
    expect((await api.get('/v1/buckets?prefix=hog', TENANT)).status).toBe(200)
  })

  test('is counted for each job of a batch', async () => {
    const api = small()
    await fill((n) => enqueue(api, `hog%2F${n}`))
    const jobs = ['hog/a', 'other', 'hog/b'].map((key) => ({ key, data: DATA }))
    const some = await api.post('/v1/jobs', { jobs })
    expect(some.status).toBe(200)
    expect(some.body).toMatchObject({
      accepted: 1,
      verdicts: [{ status: 429, key: 'hog/a', retryAfterMs: 5_000 }, { status: 202 }, { status: 429 }],
    })
    const none = await api.post('/v1/jobs', { jobs: [{ key: 'hog', data: DATA }] })
    expectProblem(none, 429, 'none-accepted', { retryAfterMs: 5_000 })
    expect(none.headers.get('retry-after')).toBe('5')
  })

  test('gets more when its jobs end', async () => {
    const api = small()
    await fill((n) => api.enqueue('hog', { data: DATA, id: `n${n}` }))
    expectProblem(await enqueue(api, 'hog'), 429, 'memory-share')
    for (const n of [0, 1]) expect((await api.call('DELETE', `/v1/jobs/n${n}`)).status).toBe(204)
    expect((await enqueue(api, 'hog')).status).toBe(202)
  })

  test('is full of ended jobs until they are forgotten by number or time, and their ids stay taken', async () => {
    const api = small({}, { keepFinished: 1_000 })
    const first = await api.enqueue('other', { data: DATA, id: 'one' })
    await api.shaper.cancel('one', { key: 'other' })
    const end = async (n: number) => {
      const answer = await api.enqueue('hog', { data: DATA, id: `n${n}` })
      if (answer.status === 202) await api.shaper.cancel(`n${n}`, { key: 'hog' })
      return answer
    }
    for (let n = 0; n < 3; n++) expectProblem(await fill(end), 429, 'memory-share')
    for (const id of ['n0', 'one']) expect(await api.shaper.job(id)).toBeDefined()
    // What another asks for again is not admitted again.
    const again = await api.enqueue('other', { data: DATA, id: 'one' })
    expect([again.body['id'], again.headers.get('idempotent-replayed')]).toEqual([first.body['id'], 'true'])
  })

  test('is never refused for its share below the part that all could have beside one more', async () => {
    const api = small()
    const holds = (key: string) => api.shaper.heap.of(key) / LIMIT
    while (holds('other') < 0.23) expect((await enqueue(api, 'other')).status).toBe(202)
    // The first has half of what is left. Of the rest the second has no half, but its part of three.
    for (const hog of ['hog', 'third']) {
      expectProblem(await fill((n) => enqueue(api, `${hog}%2F${n}`)), 429, 'memory-share')
    }
    expect((await enqueue(api, 'other')).status).toBe(202)
    expect(holds('third')).toBeCloseTo(0.25, 1)
    // Beyond that it waits for the others.
    expectProblem(await fill((n) => enqueue(api, `other%2F${n}`)), 429, 'memory-share')
    expect(holds('other')).toBeCloseTo(0.25, 1)
  })

  test('leaves some for the next, though others took more than their part while they were fewer', async () => {
    const api = small()
    for (const hog of ['hog', 'second', 'third']) {
      expectProblem(await fill((n) => enqueue(api, `${hog}%2F${n}`)), 429, 'memory-share')
    }
    expect((await enqueue(api, 'other')).status).toBe(202)
  })

  test('has no more for it than the share of the settings', async () => {
    const api = small({ maxSegmentShare: 0.1 })
    expectProblem(await fill((n) => enqueue(api, `hog%2F${n}`)), 429, 'memory-share')
    expect(api.shaper.heap.of('hog') / LIMIT).toBeCloseTo(0.1, 1)
  })

  test('counts no meter that cannot say what it uses', async () => {
    const { fill, canAccept, level, drain } = new Meter('m', { limits: { '*': '5, 1/s' } })
    const api = new Api({ '*': '5, 1/s' }, { meter: { fill, canAccept, level, drain } })
    expect((await enqueue(api, 'a')).status).toBe(202)
  })

  describe('which has no more left', () => {
    /** A segment that takes what it can, with one job of an id and one of an `Idempotency-Key`. */
    async function full() {
      const api = small()
      const header = { headers: { 'Idempotency-Key': 'key-1' } }
      const named = await api.enqueue('hog%2F0', { data: DATA, id: 'one' })
      const keyed = await api.enqueue('hog%2F0', { data: DATA }, header)
      expect([named, keyed].map(({ status }) => status)).toEqual([202, 202])
      await fill((n) => enqueue(api, `hog%2F${n}`))
      return { api, header, named, keyed }
    }

    test('a known id gets its first answer again, and others are refused', async () => {
      const { api, header, named, keyed } = await full()
      const again = await api.enqueue('hog%2F0', { data: DATA, id: 'one' })
      expect([again.status, again.body['id']]).toEqual([202, named.body['id']])
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      const byHeader = await api.enqueue('hog%2F0', { data: DATA }, header)
      expect([byHeader.status, byHeader.body['id']]).toEqual([202, keyed.body['id']])
      expectProblem(await api.enqueue('hog%2F0', { data: 'other', id: 'one' }), 422, 'idempotency-key-reused')
      for (const job of [{ data: 0 }, { data: 0, id: 'three' }]) {
        expectProblem(await api.enqueue('hog%2F0', job), 429, 'memory-share')
      }
    })

    test('also in a batch', async () => {
      const { api } = await full()
      const jobs = ['one', 'three'].map((id) => ({ key: 'hog/0', data: DATA, id }))
      expect((await api.post('/v1/jobs', { jobs })).body).toMatchObject({
        accepted: 1,
        verdicts: [{ status: 202, id: 'one', replayed: true }, { status: 429 }],
      })
    })

    const ACTS: [string, (api: Api, key: string, call: object) => Promise<Answer>][] = [
      ['paused', (api, key, call) => api.post(`/v1/buckets/${key}/pause`, undefined, call)],
      ['frozen', (api, key, call) => api.post(`/v1/buckets/${key}/freeze`, { forMs: 1_000 }, call)],
      ['limited', (api, key, call) => api.call('PUT', `/v1/limits/${key}`, { ...LIMITED, ...call })],
      [
        'limited here',
        (api, key, call) => api.call('PUT', `/v1/limits/${key}?scope=local`, { ...LIMITED, ...call }),
      ],
    ]
    test.each(ACTS)('a live key can be %s, by the operator any key', async (_what, act) => {
      const api = small({}, { keepFinished: 0 }, TOKENS)
      await fill((n) => api.enqueue(`hog%2F${n}`, { data: DATA }, TENANT))
      expectProblem(await act(api, 'hog%2Fnew', TENANT), 429, 'memory-share')
      expect((await act(api, 'hog%2F0', TENANT)).status).toBeLessThan(300)
      expect((await act(api, 'hog%2Fnew', OPERATOR)).status).toBeLessThan(300)
    })

    test.each(ACTS)('no key is %s where the memory is short for all', async (_what, act) => {
      const api = new Api({ '*': '5, 1/s' }, { heap: () => ({ used: 1, limit: 0 }), tokens: TOKENS })
      for (const call of [TENANT, OPERATOR]) {
        expectProblem(await act(api, 'hog', call), 503, 'temporary-reduced-capacity')
      }
    })
  })
})

import { describe, expect, test } from 'vitest'
import { acceptedSchema } from '../../../src/http/verdict-schemas.ts'
import { Api, expectProblem } from './api.ts'

const header = ({ headers }: { readonly headers: Headers }, name: string) => headers.get(name)

describe('a job that is accepted', () => {
  test('is answered with 202, where it is, and how much room is left', async () => {
    const api = new Api({ '*': '5, 2/s' })
    await api.enqueue('sms')
    const answer = await api.enqueue('sms', { data: { to: '+1' }, id: 'j1', cost: 2 })
    expect(answer.status).toBe(202)
    expect(acceptedSchema.parse(answer.body)).toEqual({
      id: 'j1',
      key: 'sms',
      position: 2,
      waiting: 3,
      capacity: 5,
      departsAt: 500,
      waitMs: 500,
    })
    expect(header(answer, 'location')).toBe('/v1/jobs/j1?key=sms')
    expect(header(answer, 'ratelimit-policy')).toBe('"*";q=5;w=3')
    expect(header(answer, 'ratelimit')).toBe('"*";r=2;t=0')
    expect(header(answer, 'retry-after')).toBeNull()
    expect(header(answer, 'idempotent-replayed')).toBeNull()
    const job = await api.get(header(answer, 'location')!)
    expect(job.body).toMatchObject({ id: 'j1', key: 'sms', data: { to: '+1' }, cost: 2 })
  })

  test('gets in RateLimit when the next place becomes free', async () => {
    const api = new Api({ slow: '5, 1/10s' })
    api.shaper.work(() => undefined)
    await api.enqueue('slow')
    await api.pass(1_000)
    await api.enqueue('slow')
    const answer = await api.enqueue('slow')
    // The next departs at 10 s, in 9 s.
    expect(header(answer, 'ratelimit')).toBe('"slow";r=3;t=9')
    expect(header(answer, 'ratelimit-policy')).toBe('"slow";q=5;w=50')
  })

  test('behind a cold line gets when the next unit is free, and not when the line would be warm', async () => {
    const api = new Api({ '*': '50, 1/s, warm-up 30s' })
    for (let job = 0; job < 20; job++) await api.enqueue('k')
    expect(header(await api.enqueue('k'), 'ratelimit')).toBe('"*";r=29;t=3')
    await api.shaper.freeze('k', 60_000)
    expect(header(await api.enqueue('k'), 'ratelimit')).toBe('"*";r=28;t=60')
  })

  test('may hold any JSON, and brings its settings along', async () => {
    const api = new Api()
    for (const data of [null, 0, '', false, [], {}, [[1], { a: null }], 'x'.repeat(1_000)]) {
      const { body } = await api.enqueue(`k${JSON.stringify(data).length}`, { data })
      expect((await api.shaper.job(String(body['id'])))?.data).toEqual(data)
    }
    const settings = {
      attempts: 3,
      backoff: { type: 'fixed', delayMs: 10 },
      timeoutMs: 1_000,
      deadlineMs: 60_000,
    }
    const { body } = await api.enqueue('k', { data: 1, ...settings })
    expect(await api.shaper.job(String(body['id']))).toMatchObject({ attempts: 3, deadlineAt: 60_000 })
  })

  test('carries the trace of the request, if that can be read', async () => {
    const api = new Api()
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const seen: unknown[] = []
    api.shaper.work((job) => void seen.push(job.traceparent))
    await api.enqueue('k', { data: 1 }, { headers: { traceparent } })
    await api.enqueue('k', { data: 1 }, { headers: { traceparent: 'nonsense' } })
    await api.pass(1_000)
    expect(seen).toEqual([traceparent, undefined])
  })
})

describe('the same request again', () => {
  test('with its id gets the first answer, and admits nothing', async () => {
    const api = new Api()
    const first = await api.enqueue('k', { data: [1], id: 'x' })
    await api.pass(100)
    const again = await api.enqueue('k', { data: [1], id: 'x' })
    expect(again.status).toBe(202)
    expect(header(again, 'idempotent-replayed')).toBe('true')
    expect(again.body).toMatchObject({ id: 'x', departsAt: first.body['departsAt'], position: 1 })
    expect((await api.shaper.audit()).admitted).toBe(1)
  })

  test.each(['first-try', '"first try"', '"with \\"quotes\\" and \\\\"', '~'])(
    'with its Idempotency-Key %s gets the first answer',
    async (key) => {
      const api = new Api()
      const headers = { 'Idempotency-Key': key }
      const first = await api.enqueue('k', { data: 1 }, { headers })
      const again = await api.enqueue('k', { data: 1 }, { headers })
      expect(again.body['id']).toBe(first.body['id'])
      expect(header(again, 'idempotent-replayed')).toBe('true')
      expect((await api.shaper.audit()).admitted).toBe(1)
    },
  )

  test('says the same bare and quoted', async () => {
    const api = new Api()
    const bare = await api.enqueue('k', { data: 1 }, { headers: { 'Idempotency-Key': 'abc' } })
    const quoted = await api.enqueue('k', { data: 1 }, { headers: { 'Idempotency-Key': '"abc"' } })
    expect(quoted.body['id']).toBe(bare.body['id'])
  })

  test('with another body is refused, and changes nothing', async () => {
    const api = new Api()
    const headers = { 'Idempotency-Key': 'abc' }
    await api.enqueue('k', { data: 1 }, { headers })
    for (const other of [
      api.enqueue('k', { data: 2 }, { headers }),
      api.enqueue('k%2Fother', { data: 1 }, { headers }),
      api.enqueue('k', { data: 1, cost: 2 }, { headers }),
    ]) {
      expectProblem(await other, 422, 'idempotency-key-reused')
    }
    await api.enqueue('k', { data: 1, id: 'mine' })
    expectProblem(await api.enqueue('k', { data: 2, id: 'mine' }), 422, 'idempotency-key-reused')
    expect((await api.shaper.audit()).admitted).toBe(2)
  })

  test('after a refusal is judged anew', async () => {
    const api = new Api({ '*': '1, 2/s' })
    api.shaper.work(() => undefined)
    await api.enqueue('k')
    await api.enqueue('k')
    const headers = { 'Idempotency-Key': 'late' }
    expect((await api.enqueue('k', { data: 1 }, { headers })).status).toBe(429)
    await api.pass(1_000)
    const answer = await api.enqueue('k', { data: 1 }, { headers })
    expect(answer.status).toBe(202)
    expect(header(answer, 'idempotent-replayed')).toBeNull()
  })

  test.each(['', '""', '"open', '"a"b"', 'x'.repeat(256), 'caf\u00e9', '"tab\\there"'])(
    'needs a key that can be read: %j is none',
    async (key) => {
      const api = new Api()
      const answer = await api.enqueue('k', { data: 1 }, { headers: { 'Idempotency-Key': key } })
      expectProblem(answer, 400, 'bad-request')
      expect((await api.shaper.audit()).admitted).toBe(0)
    },
  )

  test('takes an id and a key only if both are the same', async () => {
    const api = new Api()
    const headers = { 'Idempotency-Key': 'x' }
    expect((await api.enqueue('k', { data: 1, id: 'x' }, { headers })).body['id']).toBe('x')
    const answer = await api.enqueue('k', { data: 1, id: 'y' }, { headers })
    expectProblem(answer, 422, 'invalid', { errors: [{ detail: expect.any(String), pointer: '#/id' }] })
  })

  test('does not let an id be chosen that the service derives', async () => {
    const api = new Api()
    const first = await api.enqueue('k', { data: 1 }, { headers: { 'Idempotency-Key': 'secret' } })
    const id = first.body['id']
    expectProblem(await api.enqueue('k', { data: 1, id }), 422, 'invalid')
  })
})

describe('a job that is rejected', () => {
  test('because the line is full, gets the time to retry, and is then accepted', async () => {
    const api = new Api({ '*': '2, 2/5s' })
    api.shaper.work(() => undefined)
    for (let count = 0; count < 3; count++) await api.enqueue('k')
    const answer = await api.enqueue('k')
    expectProblem(answer, 429, 'queue-full', {
      key: 'k',
      retryAfterMs: 2_500,
      waiting: 2,
      capacity: 2,
      'violated-policies': ['*'],
    })
    expect(header(answer, 'retry-after')).toBe('3')
    expect(header(answer, 'ratelimit')).toBe('"*";r=0;t=3')
    expect(header(answer, 'ratelimit-policy')).toBe('"*";q=2;w=5')
    expect((await api.shaper.audit()).admitted).toBe(3)
    await api.pass(2_499)
    expect((await api.enqueue('k')).status).toBe(429)
    await api.pass(1)
    expect((await api.enqueue('k')).status).toBe(202)
  })

  test('never gets a time to retry of less than a second', async () => {
    const api = new Api({ '*': '1, 100/s' })
    api.shaper.work(() => undefined)
    await api.enqueue('k')
    await api.enqueue('k')
    const answer = await api.enqueue('k')
    expectProblem(answer, 429, 'queue-full', { retryAfterMs: 10 })
    expect(header(answer, 'retry-after')).toBe('1')
  })

  test('because its deadline cannot be met, gets that reason', async () => {
    const api = new Api({ '*': '5, 1/s' })
    for (let count = 0; count < 3; count++) await api.enqueue('k')
    const answer = await api.enqueue('k', { data: 1, deadlineMs: 500 })
    expectProblem(answer, 429, 'deadline', { waiting: 3, capacity: 5, key: 'k' })
    expect(Number(header(answer, 'retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await api.shaper.audit()).admitted).toBe(3)
  })

  test('because the bucket is paused and full, gets that reason', async () => {
    const api = new Api({ '*': '1, 1/s' })
    await api.shaper.pause('k')
    await api.enqueue('k')
    expectProblem(await api.enqueue('k'), 429, 'paused')
  })

  test('because it costs more than the capacity, learns that it never fits', async () => {
    const api = new Api({ '*': '5, 1/s' })
    const answer = await api.enqueue('k', { data: 1, cost: 6 })
    expectProblem(answer, 422, 'too-costly', { waiting: 0, capacity: 5 })
    expect(header(answer, 'retry-after')).toBeNull()
    expect(answer.body).not.toHaveProperty('retryAfterMs')
  })

  test('because no limit governs the key, gets that reason', async () => {
    const api = new Api({ sms: '5, 1/s' })
    expectProblem(await api.enqueue('mail'), 422, 'no-limit')
    expect((await api.enqueue('sms/acme')).status).toBe(202)
  })
})

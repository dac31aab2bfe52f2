import { describe, expect, test } from 'vitest'
import { forwardJudge } from '../../../src/forward/forward-judge.ts'
import { Api, expectProblem } from './api.ts'

const OK = { method: 'POST', url: 'https://api.example.com/send' }
const open = () =>
  new Api(undefined, {
    dataFault: forwardJudge({
      allow: ['https://api.example.com', 'http://10.0.0.7', 'http://10.0.0.8'],
      allowPrivate: ['10.0.0.8'],
      headers: { 'https://api.example.com': { authorization: `Bearer \${KEY}` } },
    }),
  })

describe('a job that could never be sent', () => {
  test.each<[unknown, string, string]>([
    [{ ...OK, url: 'https://evil.example/' }, '/url', 'the origin "https://evil.example" is not allowed'],
    [{ url: OK.url }, '/method', 'expected method to be one of GET, POST, PUT, PATCH, DELETE, HEAD'],
    [{ ...OK, url: 'https://me@api.example.com/' }, '/url', 'expected a url without a user'],
    [{ ...OK, url: 'http://10.0.0.7/' }, '/url', 'expected 10.0.0.7 to have public addresses only'],
    [{ ...OK, headers: { Host: 'a' } }, '/headers', 'the header host belongs to the connection'],
    [{ ...OK, headers: { Authorization: 'a' } }, '/headers', 'the header authorization is a secret'],
    [{ ...OK, headers: { a: 5 } }, '/headers/a', 'expected the header "a" to be a text'],
    [{ ...OK, method: 'GET', body: 'x' }, '/body', 'expected no body with GET'],
    [{ ...OK, timeoutMs: 0 }, '/timeoutMs', 'expected timeoutMs to be a whole number of milliseconds'],
    [{ ...OK, timeoutMs: 60_001 }, '/timeoutMs', 'a whole number of milliseconds from 1 to 60000, got'],
    [{ ...OK, headers: { Range: 'bytes=0-9' } }, '/headers', 'where the configuration adds secrets'],
    [{ ...OK, headers: { X_Forwarded_For: '1.2.3.4' } }, '/headers', 'says where a request came from'],
    [{ ...OK, 'a/b': 1 }, '/a~1b', 'unknown field "a/b"'],
    [null, '', 'expected the data to be an object'],
  ])('is refused at the rope: %j', async (data, pointer, detail) => {
    const api = open()
    const answer = await api.post('/v1/buckets/k/jobs', { data })
    expectProblem(answer, 422, 'invalid')
    expect(answer.body.errors).toEqual([
      { pointer: `#/data${pointer}`, detail: expect.stringContaining(detail) },
    ])
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('is refused alone in a batch, and those around it are accepted', async () => {
    const api = open()
    const { status, body } = await api.post('/v1/jobs', {
      jobs: [
        { key: 'k', data: OK },
        { key: 'k', data: { ...OK, url: 'https://evil.example/' } },
        { key: 'k', data: { ...OK, url: 'http://10.0.0.8/' } },
      ],
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ accepted: 2, rejected: 1 })
    expect((body as { verdicts?: unknown }).verdicts).toEqual([
      expect.objectContaining({ status: 202 }),
      expect.objectContaining({
        status: 422,
        type: 'urn:velvet-rope:problem:invalid',
        key: 'k',
        errors: [{ pointer: '#/jobs/1/data/url', detail: expect.stringContaining('is not allowed') }],
      }),
      expect.objectContaining({ status: 202 }),
    ])
    const none = await api.post('/v1/jobs', { jobs: [{ key: 'k', data: 1 }] })
    expectProblem(none, 422, 'none-acceptable')
  })
})

describe('a job that asks for more time than its handler may take', () => {
  const withMost = () => new Api(undefined, { maxTimeoutMs: 600_000 })

  test('is refused, and one that asks for as much is not', async () => {
    const api = withMost()
    const answer = await api.post('/v1/buckets/k/jobs', { data: 1, timeoutMs: 600_001 })
    expectProblem(answer, 422, 'invalid')
    expect(answer.body.errors).toEqual([
      { pointer: '#/timeoutMs', detail: 'expected timeoutMs to be at most 600000, got: 600001' },
    ])
    expect((await api.post('/v1/buckets/k/jobs', { data: 1, timeoutMs: 600_000 })).status).toBe(202)
    expect((await api.post('/v1/buckets/k/jobs', { data: 1 })).status).toBe(202)
    expect((await api.shaper.audit()).admitted).toBe(2)
  })

  test('is refused alone in a batch', async () => {
    const { status, body } = await withMost().post('/v1/jobs', {
      jobs: [
        { key: 'k', data: 1, timeoutMs: 1 },
        { key: 'k', data: 1, timeoutMs: 600_001 },
      ],
    })
    expect([status, body]).toMatchObject([
      200,
      { verdicts: [{ status: 202 }, { status: 422, errors: [{ pointer: '#/jobs/1/timeoutMs' }] }] },
    ])
  })

  test('is accepted where there is no maximum', async () => {
    const api = new Api()
    expect((await api.post('/v1/buckets/k/jobs', { data: 1, timeoutMs: 86_400_000 })).status).toBe(202)
  })
})

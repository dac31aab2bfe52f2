import { expect, test } from 'vitest'
import { explanationSchema, lineSchema, recentSchema } from '../../../src/http/view-schemas.ts'
import { Api, expectProblem, sha256 } from './api.ts'

test('a job is explained as the shaper explains it', async () => {
  const api = new Api({ '*': '5, 1/s' })
  for (const id of ['x', 'y', 'z']) await api.enqueue('stripe/acct_42', { data: null, id })
  await api.shaper.limits.set('stripe', '5, 1/s', { by: 'ann' })
  const { status, body } = await api.get('/v1/jobs/z/explanation')
  expect(status).toBe(200)
  expect(explanationSchema.parse(body)).toEqual(await api.shaper.explain('z'))
  expect(body).toMatchObject({
    position: 3,
    ahead: { jobs: 2, cost: 2, ids: ['x', 'y'] },
    rule: { pattern: 'stripe', origin: 'override', by: 'ann' },
    summary:
      'Third in line of stripe/acct_42: could depart in 2 s at 1/s, behind 2 jobs, but no worker takes jobs.',
  })
  api.shaper.work(() => undefined)
  await api.pass(0)
  expect((await api.get('/v1/jobs/x/explanation')).body).toMatchObject({ state: 'completed', holds: [] })
})

test.each(['unknown', 'x'.repeat(129), 'a%2Fb', '%00', '..%2F..%2Fetc', '*'])(
  'an unknown job (%s) is answered with 404',
  async (id) => {
    expectProblem(await new Api().get(`/v1/jobs/${id}/explanation`), 404, 'not-found')
  },
)

test('a job of others is unknown, and so are their lines', async () => {
  const tokens = [{ name: 'a', sha256: sha256('t'), scopes: ['read'] as const, prefixes: ['tenant-a'] }]
  const api = new Api({ '*': '5, 1/s' }, { tokens })
  await api.shaper.enqueue('tenant-ab', null, { id: 'theirs' })
  await api.shaper.enqueue('tenant-a/x', null, { id: 'ours' })
  expect((await api.get('/v1/jobs/ours/explanation', { token: 't' })).status).toBe(200)
  expectProblem(await api.get('/v1/jobs/theirs/explanation', { token: 't' }), 404, 'not-found')
  for (const verb of ['line', 'recent']) {
    expectProblem(await api.get(`/v1/buckets/tenant-ab/${verb}`, { token: 't' }), 403, 'forbidden')
  }
})

test('the line of a bucket, as long as is asked for', async () => {
  const api = new Api({ '*': '5, 1/s' })
  for (const id of ['x', 'y', 'z']) await api.enqueue('a/b', { data: null, id })
  const { status, body } = await api.get('/v1/buckets/a/b/line?limit=2')
  expect(status).toBe(200)
  expect(lineSchema.parse(body)).toEqual(await api.shaper.line('a/b', { limit: 2 }))
  expect(body).toMatchObject({ key: 'a/b', total: 3, jobs: [{ id: 'x' }, { id: 'y' }] })
  expectProblem(await api.get('/v1/buckets/unknown/line'), 404, 'not-found')
  for (const limit of ['0', '201', 'x', '1.5']) {
    expectProblem(await api.get(`/v1/buckets/a/b/line?limit=${limit}`), 422, 'invalid')
  }
  // A bucket of this name is asked for with its last slash encoded.
  expectProblem(await api.get('/v1/buckets/a%2Fline'), 404, 'not-found')
})

test('what happened lately to a bucket, from the first question on', async () => {
  const api = new Api({ '*': '2, 1/s' })
  expect((await api.get('/v1/buckets/a/recent')).body).toEqual({ verdicts: [], departures: [] })
  for (const id of ['x', 'y', 'z']) await api.enqueue('a', { data: null, id })
  api.shaper.work(() => undefined)
  await api.pass(1_000)
  const { body } = await api.get('/v1/buckets/a/recent')
  expect(recentSchema.parse(body)).toEqual({
    verdicts: [
      { at: 0, id: 'z', accepted: false, reason: 'full', waiting: 2 },
      { at: 0, id: 'y', accepted: true, waiting: 2 },
      { at: 0, id: 'x', accepted: true, waiting: 1 },
    ],
    departures: [
      { at: 1_000, id: 'y', gapMs: 1_000, gapRatio: 1 },
      { at: 0, id: 'x' },
    ],
  })
})

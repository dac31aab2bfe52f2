import { describe, expect, test } from 'vitest'
import { jobSchema } from '../../../src/http/view-schemas.ts'
import { Api, expectProblem } from './api.ts'

describe('a job', () => {
  test('is shown with its state and times while it waits, runs and has ended', async () => {
    const api = new Api({ '*': '5, 1/s' })
    await api.enqueue('a/b', { data: { n: 1 }, id: 'x' })
    await api.enqueue('a/b', { data: { n: 2 }, id: 'y' })
    const waiting = await api.get('/v1/jobs/y')
    expect(waiting.status).toBe(200)
    expect(jobSchema.parse(waiting.body)).toEqual({
      id: 'y',
      key: 'a/b',
      state: 'waiting',
      cost: 1,
      data: { n: 2 },
      attempt: 0,
      attempts: 1,
      admittedAt: 0,
      position: 2,
    })
    api.shaper.work(async ({ data }) => {
      await api.clock.sleep(100_000)
      return data
    })
    await api.pass(1_050)
    expect(jobSchema.parse((await api.get('/v1/jobs/y')).body)).toMatchObject({
      state: 'running',
      departedAt: 1_000,
    })
    await api.pass(1_000)
    expect(jobSchema.parse((await api.get('/v1/jobs/y')).body)).toMatchObject({
      state: 'completed',
      attempt: 1,
      endedAt: 1_100,
      result: { n: 2 },
    })
  })

  test('that failed shows its error', async () => {
    const api = new Api()
    api.shaper.work(() => {
      throw new Error('the number is wrong')
    })
    await api.enqueue('k', { data: 1, id: 'x' })
    await api.pass(1_000)
    expect((await api.get('/v1/jobs/x')).body).toMatchObject({
      state: 'failed',
      error: 'the number is wrong',
    })
  })

  test.each(['unknown', 'x'.repeat(129), 'a%2Fb', 'a/b', '%00', '%F0%9F%8E%AB', '..%2F..%2Fetc', '*'])(
    'that is unknown (%s) is answered with 404',
    async (id) => {
      const api = new Api()
      expectProblem(await api.get(`/v1/jobs/${id}`), 404, 'not-found')
      expectProblem(await api.call('DELETE', `/v1/jobs/${id}`), 404, 'not-found')
    },
  )

  test('is cancelled while it waits, and only then', async () => {
    const api = new Api({ '*': '5, 1/s' })
    await api.enqueue('k', { data: 1, id: 'x' })
    await api.enqueue('k', { data: 1, id: 'y' })
    const cancelled = await api.call('DELETE', '/v1/jobs/y')
    expect([cancelled.status, cancelled.body]).toEqual([204, ''])
    expect((await api.get('/v1/jobs/y')).body).toMatchObject({ state: 'cancelled' })
    expectProblem(await api.call('DELETE', '/v1/jobs/y'), 409, 'departed', { state: 'cancelled' })
    api.shaper.work(() => api.clock.sleep(10_000_000))
    await api.pass(10)
    expectProblem(await api.call('DELETE', '/v1/jobs/x'), 409, 'departed', { state: 'running' })
  })
})

import { expect, test } from 'vitest'
import { post, serve } from './running.ts'

test('the service refuses what it could never forward, in place of a job that fails later', async () => {
  const forward = { allow: ['https://api.example.com'] }
  const { url } = await serve({ limits: { '*': '9, 1/h' }, forward })
  const jobs = `${url}/v1/buckets/k/jobs`
  expect(await post(jobs, { data: { method: 'GET', url: 'https://other.example/' } })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '#/data/url' }] },
  })
  expect(await post(jobs, { data: { url: 'https://api.example.com/' } })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '#/data/method' }] },
  })
})

test('the service refuses a job that asks for more time than its handler may take', async () => {
  const { url } = await serve({
    limits: { '*': '9, 1/h' },
    work: { maxTimeoutMs: 5_000 },
    jobDefaults: { timeoutMs: 4_000 },
  })
  const jobs = `${url}/v1/buckets/k/jobs`
  expect(await post(jobs, { data: 1, timeoutMs: 5_001 })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '#/timeoutMs' }] },
  })
  expect(await post(jobs, { data: 1, timeoutMs: 5_000 })).toMatchObject({ status: 202 })
})

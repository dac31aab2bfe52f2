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

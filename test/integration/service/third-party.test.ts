import { expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../../support/redis-server.ts'
import { ThirdParty } from '../../support/third-party.ts'
import { forwardingWorker, post, serve } from './running.ts'

const ACCOUNTS = ['acme', 'globex', 'initech', 'umbrella', 'hooli']
/** For how long the API wants to be left alone when it refuses, and how many of five calls a second may be on their way by then. */
const RETRY_AFTER_S = 4
const MOST_REFUSALS_A_FREEZE = 10

async function jobs(url: string, api: ThirdParty, count: number, run: string) {
  const requests = Array.from({ length: count }, (_, index) => {
    const account = ACCOUNTS[index % ACCOUNTS.length]!
    const data = { method: 'POST', url: `${api.url}/${account}/messages`, body: { text: 'hello' } }
    return { key: `api/${account}`, id: `${run}-${index}`, data }
  })
  const { status, body } = await post(`${url}/v1/jobs`, { jobs: requests })
  expect(status, JSON.stringify(body).slice(0, 500)).toBe(202)
}

/** Refusals of one account that follow each other within the time that it was told to stay away. */
function freezes(api: ThirdParty, account: string): number[] {
  const clusters: number[] = []
  let until = Number.NEGATIVE_INFINITY
  for (const { at } of api.refusals.filter((call) => call.account === account)) {
    if (at < until) clusters[clusters.length - 1]!++
    else {
      clusters.push(1)
      until = at + RETRY_AFTER_S * 1_000 - 10
    }
  }
  return clusters
}

test('a third party that takes 5 a second and a small burst never has to refuse; halved behind our back, its refusals hold the calls back', async () => {
  const redis = await startRedis()
  const api = await ThirdParty.start({ perSecond: 5, burst: 4, retryAfterS: RETRY_AFTER_S })
  onTestFinished(() => api.stop())
  const line = { redis: redis.url, name: 'calls', limits: { api: '500, 5/s' } }
  const forwarding = { ...line, forward: { allow: [api.url], allowPrivate: ['127.0.0.1'] } }
  const [service] = await Promise.all([
    serve(line),
    forwardingWorker(forwarding),
    forwardingWorker(forwarding),
  ])

  await jobs(service.url, api, 150, 'steady')
  await api.when(() => api.done.size === 150)
  expect(api.refusals).toEqual([])
  expect(api.calls.length).toBe(150)

  api.changeLimit(2.5)
  await jobs(service.url, api, 50, 'halved')
  await api.when(() => api.done.size === 200)
  const found = ACCOUNTS.flatMap((account) => freezes(api, account))
  expect(found.length).toBeGreaterThan(0)
  expect(Math.max(...found)).toBeLessThanOrEqual(MOST_REFUSALS_A_FREEZE)
  // Nobody was called twice for one job that was done, and nobody lost an attempt.
  expect(api.calls.filter(({ status }) => status === 200).length).toBe(200)
  expect(new Set(api.calls.map(({ attempt }) => attempt))).toEqual(new Set([1]))
})

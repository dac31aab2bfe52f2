import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../../src/index.ts'
import { startRedis } from '../../support/redis-server.ts'
import { ThirdParty } from '../../support/third-party.ts'
import { forwardingWorker, post, serve } from './running.ts'

const ACCOUNTS = ['acme', 'globex', 'initech', 'umbrella', 'hooli']
/** The API takes one call in so many milliseconds, and two at once; our tolerance is taken off. */
const INTERVAL_MS = 200
const FORGIVEN_MS = INTERVAL_MS - 5
/** For how long it wants to be left alone when it refuses. */
const RETRY_AFTER_S = 4
const LOOK_EACH_MS = 50

async function jobs(url: string, api: ThirdParty, count: number, run: string) {
  const requests = Array.from({ length: count }, (_, index) => {
    const account = ACCOUNTS[index % ACCOUNTS.length]!
    const data = { method: 'POST', url: `${api.url}/${account}/messages`, body: { text: 'hello' } }
    return { key: `api/${account}`, id: `${run}-${index}`, data }
  })
  const { status, body } = await post(`${url}/v1/jobs`, { jobs: requests })
  expect(status, JSON.stringify(body).slice(0, 500)).toBe(202)
}

/** Milliseconds from each departure to the call that the API saw, of those jobs that were called for once. */
async function longestWay(shaper: Shaper, api: ThirdParty): Promise<number> {
  const ways = api.calls.map(async ({ jobId, at }) => {
    const calls = api.calls.filter((call) => call.jobId === jobId)
    const { departedAt } = (await shaper.job(jobId))!
    return calls.length === 1 ? performance.timeOrigin + at - departedAt! : 0
  })
  return Math.max(...(await Promise.all(ways)))
}

/** What the line says of freezes and departures, key by key, from now on; by its own clock, in milliseconds. */
function watch(shaper: Shaper) {
  const seen = ACCOUNTS.map((account) => ({
    key: `api/${account}`,
    frozenUntil: new Set<number>(),
    departures: new Map<string, number>(),
  }))
  const look = async () => {
    for (const { key, frozenUntil, departures } of seen) {
      const until = (await shaper.inspect(key))?.frozenUntil
      if (until !== undefined) frozenUntil.add(until)
      for (const { id, at } of (await shaper.recent(key)).departures) departures.set(`${id} ${at}`, at)
    }
  }
  let looking = look()
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, LOOK_EACH_MS)
  return async () => {
    clearInterval(timer)
    await looking
    await look()
    return seen.flatMap(({ frozenUntil, departures }) =>
      [...frozenUntil].map((until) => {
        const from = until - RETRY_AFTER_S * 1_000
        return [...departures.values()].filter((at) => at > from && at < until)
      }),
    )
  }
}

test('a third party that takes 5 a second and a burst of two never has to refuse; halved behind our back, a refusal holds all calls back but one', async () => {
  const redis = await startRedis()
  const api = await ThirdParty.start({ perSecond: 1_000 / INTERVAL_MS, burst: 2, retryAfterS: RETRY_AFTER_S })
  onTestFinished(() => api.stop())
  const line = { redis: redis.url, name: 'calls', limits: { api: '500, 5/s' } }
  const forwarding = { ...line, forward: { allow: [api.url], allowPrivate: ['127.0.0.1'] } }
  const [service] = await Promise.all([
    serve(line),
    forwardingWorker(forwarding),
    forwardingWorker(forwarding),
  ])
  const shaper = new Shaper('calls', { limits: line.limits, connection: redis.url })
  onTestFinished(() => shaper.close())

  await jobs(service.url, api, 150, 'steady')
  await api.when(() => api.done.size === 150)
  // A machine that is busy may hold one call up until the next has caught up with it.
  if ((await longestWay(shaper, api)) < FORGIVEN_MS) expect(api.refusals).toEqual([])

  const seen = watch(shaper)
  api.changeLimit(2.5)
  await jobs(service.url, api, 50, 'halved')
  await api.when(() => api.done.size === 200)
  const inFreezes = await seen()
  expect(inFreezes.length).toBeGreaterThan(0)
  // The one that was granted its slot before.
  expect(Math.max(...inFreezes.map((departures) => departures.length))).toBeLessThanOrEqual(1)
  // No completed job was called twice, and none lost an attempt.
  expect(api.calls.filter(({ status }) => status === 200).length).toBe(200)
  expect(new Set(api.calls.map(({ attempt }) => attempt))).toEqual(new Set([1]))
})

import { Agent, type Dispatcher, interceptors, request } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { monotonicNow } from '../../src/core/clock.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { formatRate } from '../../src/core/rate.ts'
import { ACCOUNTS as DEMO_ACCOUNTS } from '../../src/demo/account.ts'
import { type ApiCall, StrictApi } from '../../src/demo/strict-api.ts'
import { type OutgoingRequest, shapedFetch, turnInterceptor } from '../../src/fetch.ts'
import { Shaper } from '../../src/index.ts'
import { checkHistory, recordHistory } from '../../src/testing.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { ThirdParty } from '../support/third-party.ts'

/** Who calls, how often, and at which limits. */
interface Burst {
  readonly limits: Readonly<Record<string, string>>
  readonly each: number
}

/** The accounts, rates and slack of the demo, with room for all of them together. */
const DEMO: Burst = {
  limits: Object.fromEntries(DEMO_ACCOUNTS.map(({ key, limit }) => [key, `40, ${formatRate(limit.rate)}`])),
  each: 18,
}
const SLACK = 0.1
const MANY: Burst = {
  limits: Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`account-${n}`, '20, 2.5/s'])),
  each: 10,
}
const accountsOf = ({ limits }: Burst) => Object.keys(limits)
const intervalOf = (account: string) => parseLimit(DEMO.limits[account]!).interval
/** Of the fastest: a call may be so much longer on its way than the next one; our tolerance is 5 ms. */
const FORGIVEN = Math.min(...accountsOf(DEMO).map(intervalOf)) * SLACK - 5_000
/** Connections are opened and code has run before, as in a process that calls an API all day. */
const CONNECTIONS = 16
const WARM_ROUNDS = 5

type Place = 'memory' | 'redis'

/** Of a shared line two, as two processes have them. */
async function openShapers(place: Place, limits: Burst['limits']): Promise<readonly [Shaper, Shaper]> {
  const open = (connection: { connection?: string; prefix?: string }) => {
    const shaper = new Shaper('calls', { limits, ...connection })
    onTestFinished(() => shaper.close())
    return shaper
  }
  const shared = { connection: redisAddress(), prefix: uniquePrefix() }
  const first = open(place === 'memory' ? {} : shared)
  const second = place === 'memory' ? first : open(shared)
  await Promise.all([first.ready(), second.ready()])
  return [first, second]
}

const accountOf = ({ url }: OutgoingRequest) => url.pathname.split('/')[1]!

type Send = (account: string, id: string) => Promise<number>

/** One client with fetch and one with undici, in two processes or in one, against the same API. */
async function openClients(place: Place, url: string, burst: Burst) {
  const [first, second] = await openShapers(place, burst.limits)
  /** When each account's requests left, in turn. */
  const sent = new Map(accountsOf(burst).map((account) => [account, [] as number[]]))
  const note = (path: string) => void sent.get(path.split('/')[1]!)?.push(monotonicNow())
  const fetch = shapedFetch(first, {
    key: accountOf,
    attempts: 50,
    fetch: (input: string, init: RequestInit): Promise<Response> => {
      note(new URL(input).pathname)
      return globalThis.fetch(input, init)
    },
  })
  const agent = new Agent({ pipelining: 1 })
  onTestFinished(() => agent.destroy())
  const retry = interceptors.retry({ maxRetries: 50, methods: ['POST'], statusCodes: [429], minTimeout: 1 })
  const noting: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
    note(options.path)
    return dispatch(options, handler)
  }
  const dispatcher = agent.compose(noting, turnInterceptor(second, { key: accountOf }), retry)
  const warmUp = async () => {
    await (await globalThis.fetch(`${url}/status`)).arrayBuffer()
    await (await request(`${url}/status`, { dispatcher: agent })).body.dump()
  }
  for (let round = 0; round < WARM_ROUNDS; round++) {
    await Promise.all(Array.from({ length: CONNECTIONS }, warmUp))
  }
  const init = (id: string) => ({ method: 'POST', body: '{}', headers: { 'idempotency-key': id } }) as const
  const sends: readonly Send[] = [
    async (account, id) => {
      const answer = await fetch(`${url}/${account}/messages`, init(id))
      await answer.text()
      return answer.status
    },
    async (account, id) => {
      const answer = await request(`${url}/${account}/messages`, { dispatcher, ...init(id) })
      await answer.body.dump()
      return answer.statusCode
    },
  ]
  /** All together: every account's requests, half of them by each client. */
  const send = () =>
    Promise.all(
      accountsOf(burst).flatMap((account) =>
        Array.from({ length: burst.each }, (_, n) => sends[n % 2]!(account, `${account}-${n}`)),
      ),
    )
  return { shapers: [...new Set([first, second])], send, sent }
}

/** Bursts against an API that forgives little; answers what it saw. */
async function burstAtStrictApi(place: Place) {
  const calls: ApiCall[] = []
  const accounts = accountsOf(DEMO).map((key) => ({ key, limit: parseLimit(DEMO.limits[key]!), bursts: [] }))
  const api = await StrictApi.listen({ accounts, slack: SLACK, onCall: (call) => void calls.push(call) })
  onTestFinished(() => api.close())
  const { shapers, send, sent } = await openClients(place, `http://127.0.0.1:${api.port}`, DEMO)
  const recording = recordHistory(shapers[0]!)
  const statuses = await send()
  const came = new Map(
    accountsOf(DEMO).map((key) => [key, calls.filter((call) => call.key === key).map(({ at }) => at)]),
  )
  return {
    calls,
    came,
    sent,
    statuses,
    recording,
    refused: calls.filter(
      (call) => call.isRefused && !wasHeldUp(call, came.get(call.key)!, sent.get(call.key)!),
    ),
  }
}

/** The call before it was so much longer on its way that the two came closer together than they had left. */
function wasHeldUp({ at }: ApiCall, came: readonly number[], sent: readonly number[]): boolean {
  const index = came.indexOf(at)
  const wayOf = (nth: number) => came[nth]! - sent[nth]!
  return wayOf(index - 1) - wayOf(index) > FORGIVEN
}

const closest = (times: readonly number[]) =>
  Math.min(...times.slice(1).map((at, index) => at - times[index]!))

describe.each<Place>(['memory', 'redis'])('requests that wait their turn in lines in %s', (place) => {
  test('keep the limit of a strict API: none of a burst for several accounts is refused', async () => {
    const { calls, sent, statuses, recording, refused } = await burstAtStrictApi(place)
    expect(refused).toEqual([])
    expect(statuses).toEqual(statuses.map(() => 202))
    expect(calls.length).toBeGreaterThanOrEqual(accountsOf(DEMO).length * DEMO.each)
    for (const account of accountsOf(DEMO)) {
      const interval = intervalOf(account)
      expect(closest(sent.get(account)!)).toBeGreaterThan(interval * (1 - SLACK))
    }
    if (place === 'redis') return
    await recording.audit()
    expect(checkHistory(recording.history)).toEqual([])
  })

  test('all arrive when the other side halves its limit without notice, and a refusal holds all back but one', async () => {
    const api = await ThirdParty.start({ perSecond: 2.6, burst: 1.5, retryAfterS: 3 })
    onTestFinished(() => api.stop())
    const { shapers, send } = await openClients(place, api.url, MANY)
    const freezes: { key: string; at: number; until: number }[] = []
    const departures: { key: string; at: number }[] = []
    for (const shaper of shapers) {
      shaper.on('frozen', (event) => void freezes.push(event))
      shaper.on('departed', (event) => void departures.push(event))
    }
    const sent = send()
    const accounts = accountsOf(MANY)
    await api.when(() => api.done.size >= (accounts.length * MANY.each) / 2)
    api.changeLimit(1.3)
    const statuses = await sent
    expect(statuses).toEqual(statuses.map(() => 200))
    const ids = accounts.flatMap((account) => Array.from({ length: MANY.each }, (_, n) => `${account}-${n}`))
    expect([...api.done].filter((id) => id !== 'undefined').toSorted()).toEqual(ids.toSorted())
    expect(freezes.length).toBeGreaterThan(0)
    // On Redis one may have been granted its slot before.
    const most = place === 'memory' ? 0 : 1
    for (const { key, at, until } of freezes) {
      const during = departures.filter((other) => other.key === key && other.at > at && other.at < until)
      expect(during.length).toBeLessThanOrEqual(most)
    }
  })
})

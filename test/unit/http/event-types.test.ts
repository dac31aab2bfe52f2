import { afterEach, describe, expect, test, vi } from 'vitest'
import { type HttpOptions, openDashboard } from '../../../src/http.ts'
import { eventually } from '../../support/patience.ts'
import { builtPage } from '../dashboard/built-page.ts'
import { Api, expectProblem, read, sha256, signal } from './api.ts'
import { EventReader } from './event-reader.ts'

const RARELY = { snapshotMs: 600_000, keepAliveMs: 600_000 }
const OFTEN = { snapshotMs: 10, keepAliveMs: 600_000 }

function apiWith(options: HttpOptions): Api {
  return new Api({ '*': '5, 2/s' }, options)
}

async function listen(api: Api, query: string, call: { token?: string; lastId?: string } = {}) {
  const { token, lastId } = call
  const response = await api.raw('GET', `/v1/events?${query}`, {
    ...(token !== undefined && { token }),
    ...(lastId !== undefined && { headers: { 'Last-Event-ID': lastId } }),
  })
  expect(response.status).toBe(200)
  const reader = new EventReader(response)
  expect(await reader.next()).toEqual({ retry: '3000' })
  return reader
}

afterEach(() => void vi.useRealTimers())

describe('what is wrong in the query is answered before the stream begins', () => {
  test.each([
    [
      'types=verdit',
      'expected types to be some of verdict, departure, outcome, snapshot, buckets, bucket, rules, flow',
    ],
    ['types=', 'expected types to be some of'],
    ['types=verdict,,bucket', 'expected types to be some of'],
    ['types=verdict&types=rules', 'expected "types" once'],
    ['typs=verdict', 'unknown option "typs": did you mean types?'],
    ['types=bucket', 'expected key in the query'],
    ['key=a%0Ab', 'expected the key to hold no control characters'],
    ['key=', 'expected the key to be 1 to 256 bytes'],
    ['types=buckets&minFill=2', 'expected minFill to be'],
    ['types=buckets&sort=colour', 'expected sort to be'],
    ['types=buckets&limit=501', 'expected limit to be'],
    ['types=buckets&cursor=nonsense', 'expected cursor to come from an earlier page'],
  ])('%s', async (query, detail) => {
    const api = apiWith(RARELY)
    const answer = await api.get(`/v1/events?${query}`)
    expectProblem(answer, 422, 'invalid', {
      detail: expect.stringContaining(detail),
      errors: [{ detail: expect.stringContaining(detail) }],
    })
  })
})

describe('types', () => {
  test('come alone, and those of one bucket only with key', async () => {
    const api = apiWith(RARELY)
    const departures = await listen(api, 'types=departure')
    const ofOne = await listen(api, 'key=a/1&types=verdict,outcome')
    api.shaper.work(() => undefined)
    for (const key of ['a', 'a/1', 'a/1/x']) await api.enqueue(encodeURIComponent(key))
    await api.pass(10)
    const received = [await departures.next(), await departures.next(), await departures.next()]
    expect(received.map((event) => [event?.event, event?.data?.['key']])).toEqual([
      ['departure', 'a'],
      ['departure', 'a/1'],
      ['departure', 'a/1/x'],
    ])
    const seen = [await ofOne.next(), await ofOne.next()]
    expect(seen.map((event) => [event?.event, event?.data?.['key']])).toEqual([
      ['verdict', 'a/1'],
      ['outcome', 'a/1'],
    ])
  })

  test('apply to replayed events as well', async () => {
    const api = apiWith(RARELY)
    const all = await listen(api, 'types=verdict,departure,outcome')
    api.shaper.work(() => undefined)
    for (const key of ['a', 'b']) await api.enqueue(key)
    await api.pass(10)
    const first = (await all.next())!
    const again = await listen(api, 'types=outcome&key=b', { lastId: first.id! })
    expect(await again.next()).toMatchObject({ event: 'outcome', data: { key: 'b' } })
    const none = await listen(api, 'types=rules', { lastId: 'nonsense' })
    expect(await none.next()).toMatchObject({ event: 'rules' })
  })

  test('a client that was away until the subscription ended learns that it missed events', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const api = apiWith(RARELY)
    const reader = await listen(api, 'types=verdict')
    await api.enqueue('a')
    const { id } = (await reader.next())!
    await reader.cancel()
    vi.advanceTimersByTime(30_000)
    await api.enqueue('b')
    const again = await listen(api, 'types=verdict', { lastId: id! })
    expect(await again.next()).toEqual({ id, event: 'missed', data: { count: 0, isAtLeast: true } })
  })

  test('flow counts what the line and limits of the process refused, and what went through, also before', async () => {
    const api = apiWith(OFTEN)
    for (let n = 0; n < 8; n++) await api.enqueue('k')
    api.shaper.limits.setLocal('l', '1, 1/h')
    const reader = await listen(api, 'types=flow')
    const flow = async () => (await reader.nextOf('flow')).data
    const at = expect.any(Number)
    expect(await flow()).toEqual({ at, admitted: 5, departed: 0, rejected: 3, earlier: [] })
    for (let n = 0; n < 3; n++) await api.enqueue('l')
    await api.enqueue('k')
    await eventually(async () => expect(await flow()).toEqual({ at, admitted: 6, departed: 0, rejected: 6 }))
  })

  test('flow begins with the last five minutes where there is a dashboard, with or without a listener', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const api = apiWith({ ...RARELY, snapshotMs: 1_000, dashboard: openDashboard(builtPage()) })
    for (let second = 1; second <= 400; second++) {
      await api.enqueue(`k${second}`)
      await api.clock.advance(1_000_000)
      await vi.advanceTimersByTimeAsync(1_000)
    }
    const reader = await listen(api, 'types=flow')
    const data = (await reader.nextOf('flow')).data!
    const earlier = data['earlier'] as { at: number; admitted: number }[]
    expect(earlier.length).toBe(301)
    expect(earlier[0]).toMatchObject({ at: 100_000, admitted: 100 })
    expect(earlier.at(-1)).toMatchObject({ at: 400_000, admitted: 400 })
    expect(data).toMatchObject({ at: 400_000, admitted: 400 })
    api.app.endStreams()
    const looks = vi.spyOn(api.shaper, 'flow')
    await vi.advanceTimersByTimeAsync(9_000)
    expect(looks).not.toHaveBeenCalled()
  })
})

describe('buckets', () => {
  test('come immediately and then periodically, as the query asks for them', async () => {
    const api = apiWith(OFTEN)
    for (const [key, cost] of [
      ['t/a', 1],
      ['t/b', 4],
      ['t/c', 5],
      ['u', 5],
    ] as const) {
      await api.shaper.enqueue(key, 1, { cost })
    }
    const reader = await listen(api, 'types=buckets&prefix=t/&minFill=0.5&sort=fill&limit=1')
    const keysOf = async () => {
      const { data } = await reader.nextOf('buckets')
      const { at, buckets, total, cursor } = data as Record<string, never[]>
      return [typeof at, (buckets as { key: string }[]).map(({ key }) => key), total, typeof cursor]
    }
    expect(await keysOf()).toEqual(['number', ['t/b'], 2, 'string'])
    await api.shaper.enqueue('t/a', 1, { cost: 2 })
    await eventually(async () => expect(await keysOf()).toEqual(['number', ['t/a'], 3, 'string']))
  })

  test('clients that ask for the same share one read, which never runs twice at once', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const api = apiWith(OFTEN)
    const looked = signal()
    const goOn = signal()
    const page = { buckets: [], total: 0 }
    let isSlow = false
    let looks = 0
    vi.spyOn(api.shaper, 'buckets').mockImplementation(async () => {
      if (!isSlow) return page
      looks++
      looked.give()
      await goOn.given
      return page
    })
    const readers = [await listen(api, 'types=buckets'), await listen(api, 'types=buckets')]
    isSlow = true
    await vi.advanceTimersByTimeAsync(OFTEN.snapshotMs)
    await looked.given
    // Several periods, in which no other look begins.
    await vi.advanceTimersByTimeAsync(6 * OFTEN.snapshotMs)
    expect(looks).toBe(1)
    isSlow = false
    goOn.give()
    for (const reader of readers) expect((await reader.nextOf('buckets')).data).toMatchObject({ total: 0 })
  })

  test('one that fails takes nothing from the others', async () => {
    const api = apiWith(OFTEN)
    const buckets = api.shaper.buckets.bind(api.shaper)
    let isAway = false
    vi.spyOn(api.shaper, 'buckets').mockImplementation(async (query) => {
      if (isAway && query?.prefix === 'a') throw new Error('away')
      return buckets(query)
    })
    const [one, other] = [
      await listen(api, 'types=buckets&prefix=a'),
      await listen(api, 'types=buckets&prefix=b'),
    ]
    await one.nextOf('buckets')
    await other.nextOf('buckets')
    isAway = true
    await api.enqueue('b')
    await eventually(async () => expect((await other.nextOf('buckets')).data).toMatchObject({ total: 1 }))
    isAway = false
    expect((await one.nextOf('buckets')).data).toMatchObject({ total: 0 })
  })

  test('that the store cannot show for the moment come later', async () => {
    const { BackendUnavailableError } = await import('../../../src/index.ts')
    const api = apiWith(OFTEN)
    const buckets = api.shaper.buckets.bind(api.shaper)
    let looks = 0
    vi.spyOn(api.shaper, 'buckets').mockImplementation(async (query) => {
      if (++looks < 3) throw new BackendUnavailableError('away')
      return buckets(query)
    })
    expect((await (await listen(api, 'types=buckets')).nextOf('buckets')).data).toMatchObject({ total: 0 })
  })
})

describe('a bucket', () => {
  test('is shown with its line and its recent activity', async () => {
    const api = apiWith(OFTEN)
    const line = { key: 'k/1', total: 1, jobs: [{ id: 'x', cost: 1, state: 'waiting', admittedAt: 0 }] }
    const recent = { verdicts: [{ at: 0, id: 'x', accepted: true, waiting: 1 }], departures: [] }
    const asked = vi.fn(async (key: string) => (key === 'k/1' ? line : undefined))
    Object.assign(api.shaper, { line: asked, recent: async () => recent })
    await api.shaper.enqueue('k/1', 1)
    const reader = await listen(api, `types=bucket&key=${encodeURIComponent('k/1')}`)
    const { data } = await reader.nextOf('bucket')
    expect(data).toEqual({
      at: expect.any(Number),
      bucket: expect.objectContaining({ key: 'k/1', waiting: 1 }),
      line,
      recent,
    })
    expect(asked).toHaveBeenCalledWith('k/1', { limit: 50 })
    const empty = await listen(api, 'types=bucket&key=none')
    expect((await empty.nextOf('bucket')).data).toMatchObject({ bucket: null, line: null })
  })
})

describe('rules', () => {
  test('come with their version, once for all that changes together', async () => {
    const api = apiWith(RARELY)
    let version = 3
    Object.defineProperty(api.shaper.limits, 'version', { get: () => version })
    const reader = await listen(api, 'types=rules')
    expect((await reader.next())?.data).toEqual({ version: 3 })
    version = 4
    await api.shaper.limits.load({ '*': '9, 1/s', a: '1, 1/s', b: '2, 1/s' })
    expect((await reader.next())?.data).toEqual({ version: 4 })
    version = 5
    await api.shaper.limits.set('a', '3, 1/s')
    expect((await reader.next())?.data).toEqual({ version: 5 })
  })

  test('that changed without an effect come with their version', async () => {
    const api = apiWith(OFTEN)
    let version = 3
    Object.defineProperty(api.shaper.limits, 'version', { get: () => version })
    const reader = await listen(api, 'types=rules')
    await reader.next()
    version = 4
    expect((await reader.next())?.data).toEqual({ version: 4 })
  })
})

test('limits of this process alone are news of the rules as well', async () => {
  const api = apiWith(OFTEN)
  const reader = await listen(api, 'types=rules')
  const first = (await reader.next())?.data
  api.shaper.limits.setLocal('k', '1, 1/s')
  expect(await reader.next()).toMatchObject({ event: 'rules', data: first })
})

describe('a client costs no more than the types it asks for', () => {
  test('views cost nothing per job, and flow counts rejected jobs only', async () => {
    const api = apiWith(RARELY)
    const on = vi.spyOn(api.shaper, 'on')
    await listen(api, 'types=snapshot,buckets')
    expect(on.mock.calls).toEqual([])
    await listen(api, 'types=flow')
    expect(on.mock.calls.map(([name]) => name)).toEqual(['rejected'])
  })

  test.each(['types=snapshot', 'types=buckets', 'types=bucket&key=k', 'types=rules', 'types=verdict'])(
    'nothing runs when the last one with %s has gone',
    async (query) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
      const api = apiWith(OFTEN)
      const on = vi.spyOn(api.shaper, 'on')
      const off = vi.spyOn(api.shaper, 'off')
      const reader = await listen(api, query)
      expect(vi.getTimerCount()).toBeGreaterThan(0)
      await reader.cancel()
      await vi.advanceTimersByTimeAsync(30_000)
      expect(vi.getTimerCount()).toBe(0)
      expect(off).toHaveBeenCalledTimes(on.mock.calls.length)
    },
  )

  test('the bound on streams holds also while newcomers wait for their first view', async () => {
    const api = apiWith({ ...RARELY, maxStreams: 1 })
    const looked = signal()
    vi.spyOn(api.shaper, 'buckets').mockImplementation(async () => {
      await looked.given
      return { buckets: [], total: 0 }
    })
    const asked = [api.raw('GET', '/v1/events?types=buckets'), api.raw('GET', '/v1/events?types=buckets')]
    looked.give()
    const answers = await Promise.all(asked)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 503])
    for (const answer of answers) await answer.body?.cancel()
  })
})

describe('a token for some keys', () => {
  const tokens = [
    { name: 'a', sha256: sha256('a'), scopes: ['read'] as const, prefixes: ['tenant-a'] },
    { name: 'two', sha256: sha256('two'), scopes: ['read'] as const, prefixes: ['tenant-a', 'tenant-b'] },
  ]

  test.each([
    ['a', 'key=tenant-ab'],
    ['a', 'types=bucket&key=tenant-b'],
    ['a', 'types=buckets&prefix=tenant-b'],
    ['a', 'types=buckets&prefix=tenant-ab'],
    ['two', 'types=buckets'],
  ])('%s may not ask for %s', async (token, query) => {
    const answer = await read(
      await apiWith({ ...RARELY, tokens }).raw('GET', `/v1/events?${query}`, { token }),
    )
    expectProblem(answer, 403, 'forbidden', { detail: expect.any(String) })
  })

  test('sees those buckets only, and no totals of others', async () => {
    const api = apiWith({ ...OFTEN, tokens })
    for (const key of ['tenant-a', 'tenant-a/x', 'tenant-ab', 'tenant-b']) await api.shaper.enqueue(key, 1)
    const reader = await listen(api, 'types=buckets,snapshot,flow', { token: 'a' })
    const { data } = await reader.nextOf('buckets')
    const { buckets } = data as { buckets: { key: string }[] }
    expect(buckets.map(({ key }) => key).sort()).toEqual(['tenant-a', 'tenant-a/x'])
    expect((await reader.nextOf('snapshot')).data).toMatchObject({ buckets: 2 })
    const next = new Set<string | undefined>()
    for (let n = 0; n < 10; n++) next.add((await reader.next())?.event)
    expect([...next].sort()).toEqual(['buckets', 'snapshot'])
  })
})

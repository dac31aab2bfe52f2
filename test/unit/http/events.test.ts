import { afterEach, describe, expect, test, vi } from 'vitest'
import type { HttpOptions } from '../../../src/http.ts'
import { Api, expectProblem, sha256 } from './api.ts'
import { EventReader } from './event-reader.ts'

/** So rarely that none comes during a test that waits for none. */
const RARELY = { snapshotMs: 600_000, keepAliveMs: 600_000 }

function quiet(options: HttpOptions = {}): Api {
  return new Api({ '*': '5, 2/s' }, { ...RARELY, ...options })
}

async function listen(api: Api, lastId?: string, token?: string): Promise<EventReader> {
  const headers: Record<string, string> = lastId === undefined ? {} : { 'Last-Event-ID': lastId }
  const response = await api.raw('GET', '/v1/events', { headers, ...(token !== undefined && { token }) })
  expect(response.status).toBe(200)
  const reader = new EventReader(response)
  expect(await reader.next()).toEqual({ retry: '3000' })
  return reader
}

describe('events', () => {
  test('come as a stream that proxies neither cache nor buffer', async () => {
    const response = await quiet().raw('GET', '/v1/events')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    await response.body?.cancel()
  })

  test('omit the time to retry where a retry never helps', async () => {
    const api = quiet()
    const reader = await listen(api)
    await api.shaper.enqueue('k', 1, { cost: 6 })
    const event = await reader.next()
    expect(event?.data).toMatchObject({ accepted: false, reason: 'too-costly' })
    expect(event?.data).not.toHaveProperty('retryAfterMs')
  })

  test('report verdicts, departures and outcomes, in order and numbered', async () => {
    const api = quiet()
    const reader = await listen(api)
    await api.enqueue('k', { data: 'secret', id: 'x', cost: 5 })
    await api.enqueue('k', { data: 'secret', id: 'y' })
    api.shaper.work(() => ({ secret: 'result' }))
    await api.pass(10_000)
    const events = [await reader.next(), await reader.next(), await reader.next(), await reader.next()]
    const job = { id: 'x', key: 'k', cost: 5 }
    expect(events.map((event) => [event?.event, event?.data])).toEqual([
      [
        'verdict',
        { accepted: true, ...job, position: 1, departsAt: 0, waitMs: 0, waiting: 5, capacity: 5, at: 0 },
      ],
      [
        'verdict',
        expect.objectContaining({
          accepted: false,
          reason: 'full',
          id: 'y',
          retryAfterMs: expect.any(Number),
        }),
      ],
      ['departure', { ...job, attempt: 1, at: 0, waitedMs: 0, fence: 1 }],
      ['outcome', { outcome: 'completed', ...job, attempt: 1, at: 0 }],
    ])
    const ids = events.map((event) => event?.id?.split('-') ?? [])
    expect(ids.map(([, number]) => number)).toEqual(['1', '2', '3', '4'])
    expect(new Set(ids.map(([run]) => run)).size).toBe(1)
  })

  test.each(['failed', 'cancelled', 'expired'])('report that a job %s', async (outcome) => {
    const api = quiet()
    const reader = await listen(api)
    if (outcome === 'failed') {
      api.shaper.work(() => {
        throw new Error(`no\nway ${'x'.repeat(1_000)}`)
      })
    }
    await api.enqueue('k', { data: 1, id: 'x', deadlineMs: 1_000 })
    if (outcome === 'cancelled') await api.shaper.cancel('x')
    await api.pass(2_000)
    const { data } = await reader.nextOf('outcome')
    expect(data).toMatchObject({ outcome, id: 'x', key: 'k' })
    expect(String(data?.['error'] ?? '').length).toBe(outcome === 'failed' ? 500 : 0)
  })

  test('cannot be forged by a key or an error', async () => {
    const api = quiet()
    const reader = await listen(api)
    const key = 'a\u2028b: event: x "'
    await api.enqueue(encodeURIComponent(key))
    expect(await reader.next()).toMatchObject({ event: 'verdict', data: { key } })
  })

  test('bring a snapshot every second', async () => {
    const api = quiet({ snapshotMs: 10 })
    await api.enqueue('k', { data: 1, cost: 2 })
    await api.enqueue('k')
    await api.enqueue('l')
    await api.shaper.pause('l')
    const { id, data } = await (await listen(api)).nextOf('snapshot')
    expect(id).toBeUndefined()
    expect(data).toEqual({
      at: expect.any(Number),
      buckets: 2,
      states: { idle: 0, waiting: 1, full: 0, frozen: 0, paused: 1 },
      waiting: 4,
      jobs: 3,
      retrying: 0,
      running: 0,
      fullest: [
        expect.objectContaining({ key: 'k', waiting: 3, capacity: 5, fill: 0.6 }),
        expect.objectContaining({ key: 'l', state: 'paused', fill: 0.2 }),
      ],
      audit: { admitted: 3, waiting: 3, handed: 0, running: 0, retrying: 0, ended: 0 },
    })
  })

  test('show the ten fullest of many buckets', async () => {
    const api = quiet({ snapshotMs: 10 })
    const requests = Array.from({ length: 450 }, (_, index) => ({
      key: `k${index}`,
      data: 1,
      cost: index < 15 ? 3 : 1,
    }))
    await api.shaper.enqueueMany(requests)
    const { data } = await (await listen(api)).nextOf('snapshot')
    expect(data).toMatchObject({ buckets: 450, waiting: 480 })
    const fullest = data?.['fullest'] as { fill: number }[]
    expect(fullest.map(({ fill }) => fill)).toEqual(Array(10).fill(0.6))
  })

  test('include a comment now and then, so that no proxy takes the stream for dead', async () => {
    const reader = await listen(quiet({ keepAliveMs: 10 }))
    expect(await reader.next()).toEqual({ comment: 'here' })
    expect(await reader.next()).toEqual({ comment: 'here' })
  })

  test('continue when the line cannot be read', async () => {
    const api = quiet({ snapshotMs: 10, keepAliveMs: 30 })
    let looks = 0
    const tally = api.shaper.tally.bind(api.shaper)
    api.shaper.tally = async (groups) => {
      if (++looks < 3) throw new Error('away')
      return tally(groups)
    }
    expect((await (await listen(api)).nextOf('snapshot')).data).toMatchObject({ buckets: 0 })
    expect(looks).toBeGreaterThanOrEqual(3)
  })
})

describe('a client that reconnects', () => {
  async function withThree(api: Api): Promise<string[]> {
    const reader = await listen(api)
    for (const id of ['a', 'b', 'c']) await api.enqueue('k', { data: 1, id })
    const events = [await reader.next(), await reader.next(), await reader.next()]
    await reader.cancel()
    return events.map((event) => event!.id!)
  }

  test('with Last-Event-ID gets what was missed, and then what comes', async () => {
    const api = quiet()
    const [first] = await withThree(api)
    await api.enqueue('k', { data: 1, id: 'd' })
    const reader = await listen(api, first)
    await api.enqueue('k', { data: 1, id: 'e' })
    const seen = [await reader.next(), await reader.next(), await reader.next(), await reader.next()]
    expect(seen.map((event) => event?.data?.['id'])).toEqual(['b', 'c', 'd', 'e'])
  })

  test('with the last one gets only what comes', async () => {
    const api = quiet()
    const reader = await listen(api, (await withThree(api)).at(-1))
    await api.enqueue('k', { data: 1, id: 'd' })
    expect((await reader.next())?.data).toMatchObject({ id: 'd' })
  })

  test.each(['nonsense', '', '1', '-1', 'other-1', '__proto__-1', `${'9'.repeat(400)}`, 'x-1e9'])(
    'with an id of another server run (%s) learns that it missed events',
    async (id) => {
      const api = quiet()
      await withThree(api)
      const reader = await listen(api, id)
      const missed = await reader.next()
      expect(missed).toMatchObject({ event: 'missed', data: { count: 0, isAtLeast: true } })
      await api.enqueue('k', { data: 1, id: 'd' })
      expect((await reader.next())?.data).toMatchObject({ id: 'd' })
      // With the id of that, it is of this life from now on.
      const again = await listen(api, missed!.id)
      expect((await again.next())?.data).toMatchObject({ id: 'd' })
    },
  )

  test('after more than a thousand events gets the last thousand and the number missed', async () => {
    const api = new Api({ '*': '5000, 1/s' }, RARELY)
    const [first] = await withThree(api)
    const jobs = Array.from({ length: 2_500 }, (_, index) => ({ key: 'k', data: 1, id: `j${index}` }))
    await api.shaper.enqueueMany(jobs)
    const reader = await listen(api, first)
    expect(await reader.next()).toEqual({ id: first, event: 'missed', data: { count: 1_502 } })
    for (let index = 1_500; index < 2_500; index++) {
      expect((await reader.next())?.data?.['id']).toBe(`j${index}`)
    }
  })
})

describe('a client that reconnects after large events', () => {
  test('gets as many as a stream may be behind, and is not cut off each time', async () => {
    const api = new Api({ '*': '5000, 1000/s' }, RARELY)
    const outcomes = async (lastId?: string) => {
      const headers: Record<string, string> = lastId === undefined ? {} : { 'Last-Event-ID': lastId }
      const reader = new EventReader(await api.raw('GET', '/v1/events?types=outcome', { headers }))
      expect(await reader.next()).toEqual({ retry: '3000' })
      return reader
    }
    api.shaper.work(() => {
      throw new Error('\u2603'.repeat(500))
    })
    const reader = await outcomes()
    await api.enqueue('k', { data: 1, id: 'first' })
    await api.pass(10)
    const { id } = (await reader.next())!
    await reader.cancel()
    await api.shaper.enqueueMany(Array.from({ length: 900 }, () => ({ key: 'k', data: 1 })))
    await api.pass(1_000)
    const again = await outcomes(id)
    const missed = await again.next()
    expect(missed).toMatchObject({ id, event: 'missed' })
    const { count } = missed!.data as { count: number }
    for (let received = count; received < 900; received++) expect((await again.next())?.event).toBe('outcome')
    await api.enqueue('k', { data: 1, id: 'last' })
    await api.pass(10)
    expect((await again.next())?.data).toMatchObject({ id: 'last' })
  })
})

describe('the shaper', () => {
  afterEach(() => void vi.useRealTimers())

  test('is subscribed to while a client listens and half a minute longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    const api = quiet()
    const on = vi.spyOn(api.shaper, 'on')
    const off = vi.spyOn(api.shaper, 'off')
    expect(on).not.toHaveBeenCalled()
    const [one, two] = [await listen(api), await listen(api)]
    const heard = on.mock.calls.length
    expect(heard).toBe(9)
    await one.cancel()
    vi.advanceTimersByTime(60_000)
    expect(off).not.toHaveBeenCalled()
    await two.cancel()
    vi.advanceTimersByTime(29_999)
    expect(off).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(off).toHaveBeenCalledTimes(heard)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('streams', () => {
  test('are bounded in number', async () => {
    const api = quiet({ maxStreams: 2 })
    const first = await listen(api)
    await listen(api)
    const answer = await api.get('/v1/events')
    expectProblem(answer, 503, 'temporary-reduced-capacity')
    expect(answer.headers.get('retry-after')).toBe('10')
    await first.cancel()
    await listen(api)
  })

  test('of clients that do not read are cut off after a megabyte, and delay no other', async () => {
    const api = new Api({ '*': '100000, 1/s' }, { ...RARELY, maxStreams: 2 })
    const sleeper = await api.raw('GET', '/v1/events')
    const reader = await listen(api)
    const job = (index: number) => ({ key: `k/${'x'.repeat(200)}`, data: 1, id: `j${index}` })
    let sent = 0
    for (; sent < 3_500; sent += 100) {
      await api.shaper.enqueueMany(Array.from({ length: 100 }, (_, index) => job(sent + index)))
      for (let index = 0; index < 100; index++) {
        expect((await reader.next())?.data?.['id']).toBe(`j${sent + index}`)
      }
    }
    await expect(sleeper.text()).rejects.toThrow('the client reads too slowly')
    // And its place is free.
    await listen(api)
  })

  test('end when the service goes down', async () => {
    let isDraining = false
    const api = quiet({ snapshotMs: 10, isDraining: () => isDraining })
    const reader = await listen(api)
    isDraining = true
    expect((await reader.rest()).filter(({ event }) => event !== 'snapshot')).toEqual([])
  })

  test('end when the server closes them', async () => {
    const api = quiet()
    const reader = await listen(api)
    api.app.endStreams()
    expect(await reader.rest()).toEqual([])
    await listen(api)
  })
})

describe('a token for some keys', () => {
  const tokenOf = (name: string, prefixes: readonly string[]) => ({
    name,
    sha256: sha256(name),
    scopes: ['read'] as const,
    prefixes,
  })
  const tokens = [tokenOf('a', ['tenant-a']), tokenOf('ab', ['tenant-a', 'tenant-b/x']), tokenOf('all', [])]
  const KEYS = ['tenant-a', 'tenant-a/x', 'tenant-ab', 'tenant-b', 'tenant-b/x/1', 'tenant-b/xy']

  test.each([
    ['a', ['tenant-a', 'tenant-a/x']],
    ['ab', ['tenant-a', 'tenant-a/x', 'tenant-b/x/1']],
    ['all', KEYS],
  ])('%s hears of %j', async (token, keys) => {
    const api = quiet({ tokens, snapshotMs: 20 })
    const reader = await listen(api, undefined, token)
    for (const key of KEYS) await api.shaper.enqueue(key, 1)
    const seen: unknown[] = []
    let snapshot: Record<string, unknown> | undefined
    // The first one may have been taken while they came.
    while (snapshot?.['buckets'] !== keys.length) {
      const { event, data } = (await reader.next())!
      if (event === 'verdict') seen.push(data?.['key'])
      if (event === 'snapshot') snapshot = data
    }
    expect(seen).toEqual(keys)
    expect((snapshot['fullest'] as { key: string }[]).map(({ key }) => key).sort()).toEqual([...keys].sort())
    expect('audit' in snapshot).toBe(token === 'all')
  })

  test('gets no events of others by Last-Event-ID either', async () => {
    const api = quiet({ tokens })
    const all = await listen(api, undefined, 'all')
    for (const key of KEYS) await api.shaper.enqueue(key, 1)
    const { id } = (await all.next())!
    const reader = await listen(api, id, 'a')
    await api.shaper.enqueue('tenant-a/last', 1)
    expect((await reader.next())?.data?.['key']).toBe('tenant-a/x')
    expect((await reader.next())?.data?.['key']).toBe('tenant-a/last')
  })
})

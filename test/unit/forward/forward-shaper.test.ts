import { EventEmitter, once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { ForwardSettings } from '../../../src/forward/settings.ts'
import { type JobView, Shaper } from '../../../src/index.ts'
import { checkHistory, recordHistory } from '../../../src/testing.ts'
import { allowing, farSide, forwarder } from './forwarding.ts'

const SECRET = 'sk_live_51Hq'

/** Resolves at the next event of that name. */
function next(shaper: Shaper, name: 'completed' | 'failed' | 'frozen'): Promise<void> {
  return new Promise((resolve) => {
    const listener = () => {
      shaper.off(name, listener)
      resolve()
    }
    shaper.on(name, listener)
  })
}

/** A shaper in memory whose jobs are sent as requests, one at a time. */
function shapedForwarding(settings: ForwardSettings, attempts = 3, maxFreezeMs = 3_600_000) {
  const jobDefaults = { attempts, backoff: { type: 'fixed', delayMs: 20 } } as const
  const shaper = new Shaper('calls', { limits: { '*': '50, 100/s' }, jobDefaults })
  onTestFinished(() => shaper.close())
  const recording = recordHistory(shaper)
  const classes: string[] = []
  const env = { KEY: SECRET }
  const onResponse = (statusClass: string) => void classes.push(statusClass)
  const handler = forwarder(settings, { env, maxFreezeMs, onResponse })
  shaper.work(handler, { concurrency: 1, maxFreezeMs })
  /** Lines up requests to these paths; the ids are the paths. */
  const send = (url: string, paths: string[], key = 'api/acme') =>
    shaper.enqueueMany(
      paths.map((path) => ({
        key,
        id: path,
        data: { method: 'POST', url: `${url}/${path}`, body: { path } },
      })),
    )
  const over = new Set<string>()
  const endings = new EventEmitter()
  const end = (id: string) => {
    over.add(id)
    endings.emit(id)
  }
  shaper.on('completed', ({ id }) => end(id))
  shaper.on('failed', ({ id, retryAt }) => void (retryAt === undefined && end(id)))
  /** Resolves with a job when it has ended. */
  const ended = async (id: string): Promise<JobView> => {
    if (!over.has(id)) await once(endings, id)
    return (await shaper.job(id))!
  }
  const conforms = async () => {
    await recording.audit()
    expect(checkHistory(recording.history)).toEqual([])
  }
  return { shaper, classes, send, ended, conforms }
}

type Call = { readonly id: string; readonly key: string; readonly attempt: string; readonly at: number }

/** A server that records its calls, and answers each path with these statuses, one after the other, and then 200. */
async function scripted(statuses: Record<string, number[]>, headers: Record<string, string> = {}) {
  const calls: Call[] = []
  const side = await farSide((response, { path, headers: sent }) => {
    const at = performance.now()
    const attempt = sent['shaper-attempt'] as string
    const key = String(sent['idempotency-key']).replace(/^.*:/, '')
    calls.push({ id: path.slice(1), key, attempt, at })
    const status = statuses[path.slice(1)]?.shift() ?? 200
    response.writeHead(status, status === 200 ? {} : headers).end(`${status} ${sent.authorization}`)
  })
  const requests = () => calls.map(({ id, key, attempt }) => `${id} ${key} ${attempt}`)
  return { calls, requests, url: side.url }
}

test('429 with Retry-After freezes the bucket, keeps the attempt and the order, and delays no other key', async () => {
  const api = await scripted({ b: [429, 429] }, { 'retry-after': '2' })
  const { shaper, classes, send, ended, conforms } = shapedForwarding(allowing(api.url))
  const freezes: [key: string, forMs: number][] = []
  shaper.on('frozen', ({ key, at, until }) => void freezes.push([key, Math.round(until - at)]))
  const frozen = next(shaper, 'frozen')
  await send(api.url, ['a', 'b', 'c', 'd'])
  await frozen
  await send(api.url, ['other'], 'api/globex')
  await ended('other')
  expect(await shaper.inspect('api/acme')).toMatchObject({ state: 'frozen', jobs: 2, retrying: 1 })
  const jobs = await Promise.all(['a', 'b', 'c', 'd'].map(ended))
  expect(jobs.map(({ state, attempt }) => `${state} ${attempt}`)).toEqual(jobs.map(() => 'completed 1'))
  // The job that was refused comes first again, as the same attempt under the same key.
  const calls = api.calls.filter(({ id }) => id !== 'other')
  expect(calls.map(({ id, key, attempt }) => `${id} ${key} ${attempt}`)).toEqual([
    'a a 1',
    'b b 1',
    'b b 1',
    'b b 1',
    'c c 1',
    'd d 1',
  ])
  expect(freezes).toEqual([
    ['api/acme', 2_000],
    ['api/acme', 2_000],
  ])
  const gaps = calls.slice(1).map(({ at }, index) => at - calls[index]!.at)
  expect(Math.min(gaps[1]!, gaps[2]!)).toBeGreaterThanOrEqual(2_000)
  expect(classes.toSorted()).toEqual(['2xx', '2xx', '2xx', '2xx', '2xx', '4xx', '4xx'])
  await conforms()
})

test.each([429, 503, 529])(
  '%i without Retry-After freezes for longer each time, and never uses up attempts',
  async (status) => {
    const api = await scripted({ a: Array.from({ length: 5 }, () => status) })
    const { shaper, send, ended, conforms } = shapedForwarding(allowing(api.url, { freezeMs: 10 }), 1, 80)
    const freezes: number[] = []
    shaper.on('frozen', ({ at, until }) => void freezes.push(Math.round(until - at)))
    await send(api.url, ['a'])
    expect(await ended('a')).toMatchObject({ state: 'completed', attempt: 1 })
    expect(freezes).toEqual([10, 20, 40, 80, 80])
    expect(api.requests()).toEqual(Array.from({ length: 6 }, () => 'a a 1'))
    await conforms()
  },
)

test('Retry-After is bounded', async () => {
  const api = await scripted({ a: [503] }, { 'retry-after': '9999999999' })
  const { shaper, send, ended } = shapedForwarding(allowing(api.url), 3, 30)
  const freezes: (readonly [forMs: number, askedMs: number | undefined])[] = []
  shaper.on('frozen', ({ at, until, askedMs }) => void freezes.push([Math.round(until - at), askedMs]))
  await send(api.url, ['a'])
  await ended('a')
  expect(freezes).toEqual([[30, 366 * 86_400_000]])
})

test('408, 425, 5xx and a lost connection are retried under the same key, and use up attempts', async () => {
  const api = await scripted({ a: [408, 425], b: [500, 502, 504], c: [200] })
  const { send, ended, classes, conforms } = shapedForwarding(allowing(api.url))
  await send(api.url, ['a', 'b', 'c'])
  expect(await ended('a')).toMatchObject({ state: 'completed', attempt: 3 })
  expect(await ended('b')).toMatchObject({
    state: 'failed',
    attempt: 3,
    error: `POST ${api.url} answered 504`,
  })
  expect(await ended('c')).toMatchObject({ state: 'completed', attempt: 1 })
  expect(api.requests().toSorted()).toEqual(['a a 1', 'a a 2', 'a a 3', 'b b 1', 'b b 2', 'b b 3', 'c c 1'])
  expect(classes.toSorted()).toEqual(['2xx', '2xx', '4xx', '4xx', '5xx', '5xx', '5xx'])
  await conforms()
})

test('other 4xx, redirects and requests that may not be sent fail for good, with attempts left', async () => {
  const api = await scripted({ a: [402], b: [302] }, { location: 'http://127.0.0.1:1/' })
  const { shaper, send, ended, classes, conforms } = shapedForwarding(allowing(api.url))
  await send(api.url, ['a', 'b'])
  await shaper.enqueue('api/acme', { method: 'GET', url: 'http://169.254.169.254/' }, { id: 'c' })
  await shaper.enqueue('api/acme', { text: 'not a request' }, { id: 'd' })
  const jobs = await Promise.all(['a', 'b', 'c', 'd'].map(ended))
  expect(jobs.map(({ state, attempt, error }) => [state, attempt, error])).toEqual([
    ['failed', 1, `POST ${api.url} answered 402, not tried again`],
    ['failed', 1, `POST ${api.url} answered 302, redirects are not followed`],
    ['failed', 1, 'forward: the origin "http://169.254.169.254" is not allowed'],
    [
      'failed',
      1,
      'forward: expected method to be one of GET, POST, PUT, PATCH, DELETE, HEAD, got something else',
    ],
  ])
  expect(api.requests()).toEqual(['a a 1', 'b b 1'])
  expect(classes).toEqual(['4xx', '3xx'])
  await conforms()
})

test('no secret is stored with a job, whatever its outcome', async () => {
  const api = await scripted({ a: [], b: [400], c: [500, 500, 500] })
  const headers = { [api.url]: { authorization: `Bearer \${KEY}` } }
  const { send, ended } = shapedForwarding(allowing(api.url, { headers }))
  await send(api.url, ['a', 'b', 'c'])
  const jobs = await Promise.all(['a', 'b', 'c'].map(ended))
  expect(jobs.map(({ state }) => state)).toEqual(['completed', 'failed', 'failed'])
  expect(jobs[0]!.result).toMatchObject({ status: 200, body: `200 Bearer ${'*'.repeat(SECRET.length)}` })
  expect(JSON.stringify(jobs)).not.toContain('sk_live')
})

test('settings change while jobs run: running jobs end with the old ones', async () => {
  const held: (() => void)[] = []
  const side = await farSide((response, { headers: sent }) => {
    const answer = () => response.end(String(sent['x-version']))
    if (sent['x-version'] === 'old') held.push(answer)
    else answer()
  })
  const withVersion = (version: string) =>
    forwarder(allowing(side.url, { headers: { [side.url]: { 'x-version': version } } }))
  const shaper = new Shaper('calls', { limits: { '*': '50, 100/s' } })
  onTestFinished(() => shaper.close())
  let current = withVersion('old')
  shaper.work((job) => current(job))
  const results: unknown[] = []
  shaper.on('completed', ({ id, result }) => void results.push([id, result]))
  const request = { method: 'GET', url: `${side.url}/` }
  const called = once(side.server, 'request')
  await shaper.enqueue('api/acme', request, { id: 'first' })
  await called
  const before = current
  current = withVersion('new')
  const closed = before.close().then(() => void results.push('closed'))
  const second = next(shaper, 'completed')
  await shaper.enqueue('api/acme', request, { id: 'second' })
  await second
  while (held.length === 0) await nextTurn()
  held[0]!()
  await closed
  await shaper.close({ drainMs: 5_000 })
  const bodies = results.map((result) =>
    Array.isArray(result) ? `${result[0]} ${(result[1] as { body: string }).body}` : result,
  )
  expect(bodies.toSorted()).toEqual(['closed', 'first old', 'second new'])
  expect(bodies[0]).toBe('second new')
})

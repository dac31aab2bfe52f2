import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Connection } from '../../../src/http/connection.ts'
import { RequestTurns } from '../../../src/http/request-turns.ts'
import { type AccessToken, type HttpServer, type Servable, serveHttp } from '../../../src/http.ts'
import { Api, sha256 } from './api.ts'
import { RawClient } from './raw-client.ts'

/** More milliseconds than requests may take in one turn of the loop. */
const LONG_MS = 10
/** In the check phase before a tick of the test, in the one after it, and between them. */
const MOST_BETWEEN_TICKS = 3

/** Serves an app that holds the loop for long with each request; `begun` has their names in order. */
async function serveHolding(): Promise<{ server: HttpServer; begun: string[]; most: () => number }> {
  const begun: string[] = []
  let [ofTurn, most, passed] = [0, 0, 0]
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
  const fetch: Servable['fetch'] = ({ headers }) => {
    begun.push(headers.get('authorization') ?? '')
    ofTurn++
    passed += LONG_MS
    return new Response('x'.repeat(1_000))
  }
  const tick = () => {
    most = Math.max(most, ofTurn)
    ofTurn = 0
    ticking = setImmediate(tick)
  }
  let ticking = setImmediate(tick)
  onTestFinished(() => clearImmediate(ticking))
  const clientOf = (authorization: string | undefined) => authorization
  const server = await serveHttp(
    { fetch, clientOf, endStreams: () => undefined },
    { port: 0, hasTokens: false },
  )
  onTestFinished(() => server.close(0))
  return { server, begun, most: () => most }
}

const get = (authorization?: string) =>
  `GET / HTTP/1.1\r\nHost: localhost\r\n${authorization === undefined ? '' : `Authorization: ${authorization}\r\n`}\r\n`

describe('requests that hold the loop for long', () => {
  test('begin in different turns of the loop, though many were sent ahead on many connections', async () => {
    const { server, begun, most } = await serveHolding()
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.to(server)))
    for (const client of clients) client.send(get().repeat(20))
    await expect.poll(() => begun.length).toBe(400)
    expect(most()).toBeLessThanOrEqual(MOST_BETWEEN_TICKS)
  })

  test('of one client do not delay that of another by more than a few', async () => {
    const { server, begun } = await serveHolding()
    const begunAtArrival = new Map<string, number>()
    const { serve } = Connection.prototype
    vi.spyOn(Connection.prototype, 'serve').mockImplementation(function (this: Connection, answer, start) {
      begunAtArrival.set(answer.req.headers.authorization ?? '', begun.length)
      serve.call(this, answer, start)
    })
    const clients = await Promise.all(Array.from({ length: 50 }, () => RawClient.to(server)))
    for (const client of clients) client.send(get().repeat(10))
    const other = await RawClient.to(server)
    other.send(get('other'))
    await expect.poll(() => begun).toContain('other')
    expect(begun.indexOf('other') - begunAtArrival.get('other')!).toBeLessThanOrEqual(2)
    await expect.poll(() => begun.length).toBe(501)
  })
})

describe('turns of requests', () => {
  test('are given to clients in turn, as many as there is time for', async () => {
    let now = 0
    const turns = new RequestTurns(() => now)
    const begun: string[] = []
    const ask = (client: string, times: number) => {
      for (let n = 0; n < times; n++) {
        turns.next(client, () => {
          begun.push(client)
          // What follows at once counts, too.
          void Promise.resolve().then(() => (now += 1_000))
        })
      }
    }
    ask('a', 8)
    ask('b', 2)
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun.join('')).toBe('abab')
    expect(turns.hasRoom()).toBe(false)
    ask('c', 1)
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun.join('')).toBe('ababacaa')
  })

  test('are not needed while there is time', async () => {
    let now = 0
    const turns = new RequestTurns(() => now)
    expect(turns.hasRoom()).toBe(true)
    now += 3_999
    expect(turns.hasRoom()).toBe(true)
    now += 1
    expect(turns.hasRoom()).toBe(false)
    await new Promise((resolve) => setImmediate(resolve))
    expect(turns.hasRoom()).toBe(true)
  })
})

test('the client of a request is the name of its token; those with unknown ones are one client', () => {
  const tokens: AccessToken[] = [
    { name: 'shop', sha256: sha256('secret'), scopes: ['read'], prefixes: [], limit: '1, 1/s' },
  ]
  const { app } = new Api(undefined, { tokens })
  const names = ['Bearer secret', 'bearer secret', 'Bearer other', 'Basic secret', undefined].map((header) =>
    app.clientOf(header),
  )
  expect(names).toEqual(['shop', 'shop', undefined, undefined, undefined])
})

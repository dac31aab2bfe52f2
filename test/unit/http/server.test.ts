import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serveHttp } from '../../../src/http.ts'
import { Api, expectProblem, read, sha256, signal } from './api.ts'
import { EventReader } from './event-reader.ts'
import { RawClient, serve } from './raw-client.ts'

const tokens = [{ name: 't', sha256: sha256('t'), scopes: ['admin'] as const, prefixes: [] }]

/** A shaper's verb that waits for `go`; `begun` resolves when it was called. */
function hold(api: Api) {
  const [begun, go] = [signal(), signal()]
  const inspect = api.shaper.inspect.bind(api.shaper)
  api.shaper.inspect = (async (key: string) => {
    begun.give()
    await go.given
    return inspect(key)
  }) as typeof inspect
  return { begun: begun.given, go: () => go.give() }
}

describe('a server', () => {
  test('serves the app, and says where', async () => {
    const api = new Api()
    const server = await serve(api)
    expect(server.url).toBe(`http://127.0.0.1:${server.address.port}`)
    expect(server.address).toEqual({ host: '127.0.0.1', port: expect.any(Number) })
    expect(server.address.port).toBeGreaterThan(0)
    const headers = { 'Content-Type': 'application/json' }
    const init = { method: 'POST', headers, body: '{"data":[1]}' }
    const answer = await read(await fetch(`${server.url}/v1/buckets/a%2Fb/jobs`, init))
    expect(answer).toMatchObject({ status: 202, body: { key: 'a/b' } })
    expect((await read(await fetch(`${server.url}/v1/buckets`))).body).toMatchObject({ total: 1 })
  })

  test.each(['localhost', '127.0.0.1', '127.0.0.2', '::1'])('without tokens listens on %s', async (host) => {
    const server = await serve(new Api(), { host })
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  })

  test.each([
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '192.168.1.1',
    '127.1',
    '0',
    'example.com',
    'localhost.example.com',
    '::ffff:10.0.0.1',
    '127.0.0.1.nip.io',
  ])('without tokens refuses to listen on %s', async (host) => {
    await expect(serve(new Api(), { host })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('without access tokens'),
    })
  })

  test('with tokens listens on every address, and rejects requests without one', async () => {
    const server = await serve(new Api(undefined, { tokens }), { host: '0.0.0.0', hasTokens: true })
    expect(server.address.host).toBe('0.0.0.0')
    const url = `http://127.0.0.1:${server.address.port}/v1/limits`
    expect((await fetch(url)).status).toBe(401)
    expect((await fetch(url, { headers: { Authorization: 'Bearer t' } })).status).toBe(200)
  })

  test('that requires tokens rejects every request when the app has none', async () => {
    const server = await serve(new Api(), { hasTokens: true })
    expect((await fetch(`${server.url}/v1/limits`)).status).toBe(401)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  })

  test('says what is wrong with an address that it cannot have', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const { port } = taken.address() as { port: number }
    await expect(serve(new Api(), { port })).rejects.toMatchObject({
      code: 'invalid-options',
      message: `serveHttp: expected a free port, got one in use: "127.0.0.1:${port}"`,
    })
    await expect(serve(new Api(), { host: '192.0.2.1', hasTokens: true })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('an address of this machine'),
    })
  })

  test.each([
    { port: -1 },
    { port: 65_536 },
    { port: 1.5 },
    { port: '80' },
    { host: '' },
    { hasTokens: undefined },
    { hasTokens: 'yes' },
    { headersTimeoutMs: 0 },
    { headersTimeoutMs: 2_000, requestTimeoutMs: 1_000 },
    { maxConnections: 0 },
    { maxHeaderBytes: 1 },
    { timeout: 5 },
  ])('refuses the options %j', async (options) => {
    // As they would come from JavaScript.
    const call = serveHttp(new Api().app, { port: 0, hasTokens: false, ...(options as object) })
    await expect(call).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/^serveHttp: /),
    })
  })
})

describe('the Host of a request', () => {
  async function statusOf(host: string, options = {}): Promise<number> {
    const server = await serve(new Api(), options)
    const client = await RawClient.to(server)
    client.send(
      'GET /v1/limits HTTP/1.1',
      `Host: ${host.replace('PORT', String(server.address.port))}`,
      'Connection: close',
      '',
      '',
    )
    return Number((await client.closed()).split(' ')[1])
  }

  test.each([
    'localhost',
    'localhost:PORT',
    'LOCALHOST:80',
    '127.0.0.1:PORT',
    '[::1]:PORT',
    '[::1]',
    '127.0.0.1',
  ])('may be %s', async (host) => {
    expect(await statusOf(host)).toBe(200)
  })

  test.each([
    'evil.example',
    'evil.example:PORT',
    'localhost.evil.example',
    'evil.example#localhost',
    'user@localhost',
    'localhost:PORT:80',
    'localhost.',
    '127.0.0.2',
    '0.0.0.0',
    '10.0.0.1:PORT',
    '[::2]',
    'localhost, evil.example',
    '',
  ])('may not be %j', async (host) => {
    expect([400, 421]).toContain(await statusOf(host))
  })

  test('may be the address that the server is bound to', async () => {
    expect(await statusOf('127.0.0.2:PORT', { host: '127.0.0.2' })).toBe(200)
  })

  test('that is foreign gets a problem in the usual form, and changes nothing', async () => {
    const api = new Api()
    const client = await RawClient.to(await serve(api))
    const body = '{"data":1}'
    client.send(
      'POST /v1/buckets/k/jobs HTTP/1.1',
      'Host: evil.example',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
      '',
      body,
    )
    const text = await client.closed()
    expect(text).toMatch(/^HTTP\/1\.1 421 /)
    expect(text).toContain('urn:velvet-rope:problem:foreign-host')
    expect(text.toLowerCase()).toContain('x-content-type-options: nosniff')
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test.each([
    ['GET http://evil.example/v1/limits HTTP/1.1', ['Host: localhost'], 421, 'foreign-host'],
    ['GET http://user@evil.example:80/v1/limits HTTP/1.1', ['Host: localhost'], 421, 'foreign-host'],
    ['GET /v1/limits HTTP/1.1', [], 400, 'bad-request'],
    ['GET http://localhost/v1/limits HTTP/1.1', [], 400, 'bad-request'],
    ['GET /v1/limits HTTP/1.1', ['Host: localhost', 'Host: evil.example'], 400, 'bad-request'],
    ['GET /v1/limits HTTP/1.1', ['Host: localhost', 'host: localhost'], 400, 'bad-request'],
    ['GET /v1/limits HTTP/1.0', [], 421, 'foreign-host'],
  ])('is that of %s with %j: a problem', async (line, hosts, status, problem) => {
    const client = await RawClient.to(await serve(new Api()))
    client.send(line, ...hosts, 'Connection: close', '', '')
    const text = await client.closed()
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(text).toContain(`urn:velvet-rope:problem:${problem}`)
    expect(text.toLowerCase()).toMatch(/x-request-id: .*/)
  })

  test('is refused when it comes twice, also behind a thousand other headers', async () => {
    const client = await RawClient.to(await serve(new Api(undefined, { tokens }), { hasTokens: true }))
    const others = Array.from({ length: 1_100 }, () => 'a:')
    client.send('GET /healthz HTTP/1.1', 'Host: localhost', ...others, 'Host: evil.example', '', '')
    expect(await client.until(/bad-request/)).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('is that of an absolute target, whatever the header says', async () => {
    const client = await RawClient.to(await serve(new Api()))
    client.send('GET http://localhost/v1/limits HTTP/1.1', 'Host: evil.example', 'Connection: close', '', '')
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('may be any where tokens are asked for', async () => {
    const server = await serve(new Api(undefined, { tokens }), { hasTokens: true })
    const client = await RawClient.to(server)
    client.send(
      'GET /v1/limits HTTP/1.1',
      'Host: api.example.com',
      'Authorization: Bearer t',
      'Connection: close',
      '',
      '',
    )
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('closing', () => {
  test('ends immediately when no request is open, with or without idle connections', async () => {
    const server = await serve(new Api())
    const silent = await RawClient.to(server)
    const idle = await RawClient.to(server)
    idle.send('GET /healthz HTTP/1.1', 'Host: localhost', '', '')
    await idle.until(/"ok"/)
    await server.close(600_000)
    expect(await silent.closed()).toBe('')
    expect(await idle.closed()).toContain('200 OK')
    await expect(fetch(server.url)).rejects.toThrow()
  })

  test('ends the streams of events, which would keep it open for ever', async () => {
    const api = new Api(undefined, { snapshotMs: 600_000 })
    const server = await serve(api)
    const reader = new EventReader(await fetch(`${server.url}/v1/events`))
    expect(await reader.next()).toEqual({ retry: '3000' })
    await server.close(600_000)
    expect(await reader.rest()).toEqual([])
  })

  test('lets requests under way finish, and begins no others', async () => {
    const api = new Api()
    await api.enqueue('k')
    const server = await serve(api)
    const { begun, go } = hold(api)
    const client = await RawClient.to(server)
    client.send('GET /v1/buckets/k HTTP/1.1', 'Host: localhost', '', '')
    await begun
    const closing = server.close(600_000)
    await expect(fetch(server.url)).rejects.toThrow()
    go()
    await closing
    const text = await client.closed()
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(text.toLowerCase()).toContain('connection: close')
    expect(text).toContain('"key":"k"')
  })

  test('admits nothing more, not even what came right behind a request under way', async () => {
    const refused = signal<number>()
    const api = new Api(undefined, {
      onRequest: ({ method, status }) => method === 'POST' && refused.give(status),
    })
    const server = await serve(api)
    const { begun, go } = hold(api)
    const client = await RawClient.to(server)
    client.send('GET /v1/buckets/k HTTP/1.1', 'Host: localhost', '', '')
    await begun
    const closing = server.close(600_000)
    const type = 'Content-Type: application/json'
    client.send(
      'POST /v1/buckets/k/jobs HTTP/1.1',
      'Host: localhost',
      type,
      'Content-Length: 10',
      '',
      '{"data":1}',
    )
    expect(await refused.given).toBe(503)
    go()
    await closing
    expect((await client.closed()).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404'])
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('cuts off what is left at the deadline', async () => {
    const api = new Api()
    const server = await serve(api)
    const { begun } = hold(api)
    const client = await RawClient.to(server)
    client.send('GET /v1/buckets/k HTTP/1.1', 'Host: localhost', '', '')
    await begun
    await server.close(20)
    expect(await client.closed()).toBe('')
  })

  test('twice is closing once', async () => {
    const server = await serve(new Api())
    const first = server.close()
    expect(server.close()).toBe(first)
    await first
    await server.close()
  })

  test('frees the port', async () => {
    const first = await serve(new Api())
    await first.close()
    const second = await serve(new Api(), { port: first.address.port })
    expect(second.address.port).toBe(first.address.port)
  })
})

test('the answers over a socket are those of the app', async () => {
  const server = await serve(new Api())
  const answer = await read(await fetch(`${server.url}/nothing`))
  expectProblem(answer, 404, 'not-found')
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
})

describe('what comes right behind a request that was asked in full', () => {
  const BODY = '{"data":1}'
  const POST = [
    'POST /v1/buckets/k/jobs HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${BODY.length}`,
    '',
    BODY,
  ].join('\r\n')

  test.each([
    ['a byte too many', 'x'],
    ['garbage', 'GARBAGE\r\n\r\n'],
    ['a head that is too large', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(30_000)}\r\n\r\n`],
  ])('does not take its answer: %s', async (_, behind) => {
    const api = new Api()
    const client = await RawClient.to(await serve(api))
    client.send(POST + behind)
    const received = await client.closed()
    expect(received).toMatch(/^HTTP\/1\.1 202 /)
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect((await api.shaper.audit()).admitted).toBe(1)
  })

  test('nor those of many', async () => {
    const api = new Api({ '*': '100, 1/s' })
    const client = await RawClient.to(await serve(api))
    client.send(`${POST.repeat(50)}GARBAGE\r\n\r\n`)
    const received = await client.closed()
    expect(received.match(/HTTP\/1\.1 202 /g)).toHaveLength(50)
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(50)
    expect((await api.shaper.audit()).admitted).toBe(50)
  })

  test('a request that is not whole is refused, and nothing is done', async () => {
    const api = new Api()
    const client = await RawClient.to(await serve(api))
    const head = ['POST /v1/buckets/k/jobs HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
    client.send([...head, 'Transfer-Encoding: chunked', '', 'zz', BODY, '0', '', ''].join('\r\n'))
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 400 /)
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('an unknown expectation is no reason to refuse', async () => {
    const client = await RawClient.to(await serve(new Api()))
    client.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: a miracle\r\nConnection: close\r\n\r\n')
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 200 /)
  })
})

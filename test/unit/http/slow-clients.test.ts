import { describe, expect, test, vi } from 'vitest'
import { pass } from '../../support/patience.ts'
import { Api, expectProblem, read, signal } from './api.ts'
import { RawClient, serve } from './raw-client.ts'

/** Timeouts so short that a test can wait for them. */
const SHORT = { headersTimeoutMs: 50, requestTimeoutMs: 100 }
const HEAD = ['POST /v1/buckets/k/jobs HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']

/** The answer to what never became a request. */
function expectTurnedAway(text: string, status: number, name: string): void {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  const headers = head.toLowerCase()
  expect(headers).toContain('connection: close')
  expect(headers).toContain('content-type: application/problem+json')
  expect(headers).toContain('x-content-type-options: nosniff')
  expect(headers).toContain(`content-length: ${Buffer.byteLength(body)}`)
  expect(JSON.parse(body)).toMatchObject({ type: `urn:velvet-rope:problem:${name}`, status })
}

describe('a client that is too slow', () => {
  test('with its head is rejected', async () => {
    const client = await RawClient.to(await serve(new Api(), SHORT))
    client.send(...HEAD, 'X-Slow: ')
    expectTurnedAway(await client.closed(), 408, 'request-timeout')
  })

  test('with its head, a byte at a time, is rejected as well', async () => {
    const client = await RawClient.to(await serve(new Api(), SHORT))
    client.send(...HEAD, 'X-Slow: ')
    const dripping = setInterval(() => client.send('x'), 5)
    const text = await client.closed()
    clearInterval(dripping)
    expectTurnedAway(text, 408, 'request-timeout')
  })

  test('with its body is rejected, and nothing is admitted', async () => {
    const api = new Api()
    const client = await RawClient.to(await serve(api, SHORT))
    client.send(...HEAD, 'Content-Length: 10', '', '{"data"')
    expectTurnedAway(await client.closed(), 408, 'request-timeout')
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('with the rest of a body that was refused keeps its connection for the next request', async () => {
    const client = await RawClient.to(await serve(new Api()))
    client.send(...HEAD, 'Content-Length: 2000000', '', ' '.repeat(1_000_000))
    expect(await client.until(/too-large/)).toMatch(/^HTTP\/1\.1 413 /)
    // The adapter between Node and the app would give it half a second.
    await pass(700)
    client.send(
      `${' '.repeat(1_000_000)}GET /healthz HTTP/1.1`,
      'Host: localhost',
      'Connection: close',
      '',
      '',
    )
    expect((await client.closed()).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  })

  test('with the rest of a body that was refused has only the time of a request', async () => {
    // The refusal has to come before that.
    const client = await RawClient.to(await serve(new Api(), { ...SHORT, requestTimeoutMs: 2_000 }))
    client.send(...HEAD, 'Content-Length: 2000000', '', ' ')
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('that says nothing at all is cut off', async () => {
    const client = await RawClient.to(await serve(new Api(), SHORT))
    expect(await client.closed()).toMatch(/^$|^HTTP\/1\.1 408 /)
  })

  test('between two requests is cut off', async () => {
    const client = await RawClient.to(await serve(new Api(), { keepAliveTimeoutMs: 30 }))
    client.send('GET /healthz HTTP/1.1', 'Host: localhost', '', '')
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 200 .*"ok"\}$/s)
  })

  test('and hangs up in the middle of its body admits nothing and logs no error', async () => {
    const onError = vi.fn()
    const begun = signal()
    const answered = signal<number>()
    const api = new Api(undefined, {
      onError,
      onRequest: ({ status }) => answered.give(status),
      // Asked when a job comes, before its body is read.
      isDraining: () => {
        begun.give()
        return false
      },
    })
    const client = await RawClient.to(await serve(api))
    client.send(...HEAD, 'Content-Length: 10', '', '{"data"')
    await begun.given
    client.socket.destroy()
    expect(await answered.given).toBe(400)
    expect(onError).not.toHaveBeenCalled()
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('to read its events is cut off, and its stream is forgotten', async () => {
    const api = new Api(undefined, { maxStreams: 1, snapshotMs: 600_000, keepAliveMs: 600_000 })
    const server = await serve(api, { idleTimeoutMs: 600_000 })
    const client = await RawClient.to(server)
    client.send('GET /v1/events HTTP/1.1', 'Host: localhost', '', '')
    await client.until(/retry: 3000/)
    client.socket.pause()
    expectProblem(await read(await fetch(`${server.url}/v1/events`)), 503, 'temporary-reduced-capacity')
    const key = `k/${'x'.repeat(250)}`
    // The sockets of both sides take some megabytes first; then the service keeps one, and no more.
    let status = 503
    for (let round = 0; round < 500 && status === 503; round++) {
      await api.shaper.enqueueMany(Array.from({ length: 200 }, () => ({ key, data: 1 })))
      const response = await fetch(`${server.url}/v1/events`)
      status = response.status
      await response.body?.cancel()
    }
    expect(status).toBe(200)
    client.socket.resume()
    // The stream is cut off, not ended as if it were complete.
    expect(await client.closed()).not.toMatch(/\r\n0\r\n\r\n$/)
  })

  test('to read a stream in which little happens is cut off when nothing goes over it', async () => {
    const api = new Api(undefined, { snapshotMs: 600_000, keepAliveMs: 600_000 })
    const client = await RawClient.to(await serve(api, { idleTimeoutMs: 1_000 }))
    client.send('GET /v1/events HTTP/1.1', 'Host: localhost', '', '')
    expect(await client.closed()).toContain('retry: 3000')
  })
})

describe('what is no request', () => {
  test.each([
    ['nonsense\r\n\r\n', 400, 'bad-request'],
    ['GET / HTTP/9.9\r\n\r\n', 400, 'bad-request'],
    ['GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'bad-request'],
    ['GET / HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n', 400, 'bad-request'],
    ['GET / HTTP/1.1\r\nHost: localhost\r\nX: a\u0000b\r\n\r\n', 400, 'bad-request'],
    ['GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n', 400, 'bad-request'],
    [
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
      'bad-request',
    ],
    [
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      'bad-request',
    ],
    [`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers-too-large'],
    [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431, 'headers-too-large'],
  ])('%j is answered with %i %s', async (text, status, name) => {
    const client = await RawClient.to(await serve(new Api()))
    client.send(text)
    expectTurnedAway(await client.closed(), status, name)
  })

  test.each(['GET \\evil HTTP/1.1', 'GET http://[ HTTP/1.1', 'GET * HTTP/1.1'])(
    '%s is answered with 400',
    async (line) => {
      const client = await RawClient.to(await serve(new Api()))
      client.send(line, 'Host: localhost', 'Connection: close', '', '')
      const text = await client.closed()
      expect(text).toMatch(/^HTTP\/1\.1 400 /)
      expect(text).toContain('urn:velvet-rope:problem:bad-request')
      expect(text.toLowerCase()).toContain('x-content-type-options: nosniff')
    },
  )

  test('in the middle of an answer cuts the connection, and adds nothing to the answer', async () => {
    const client = await RawClient.to(await serve(new Api(undefined, { snapshotMs: 600_000 })))
    client.send('GET /v1/events HTTP/1.1', 'Host: localhost', '', '')
    await client.until(/retry: 3000/)
    client.send('nonsense\r\n\r\n')
    expect((await client.closed()).match(/HTTP\/1\.1/g)).toHaveLength(1)
  })
})

describe('connections', () => {
  test('beyond the limit are closed immediately', async () => {
    const server = await serve(new Api(), { maxConnections: 2 })
    const clients = [await RawClient.to(server), await RawClient.to(server)]
    for (const client of clients) {
      client.send('GET /healthz HTTP/1.1', 'Host: localhost', '', '')
      expect(await client.until(/"ok"/)).toContain('200')
    }
    const third = await RawClient.to(server)
    third.send('GET /healthz HTTP/1.1', 'Host: localhost', '', '')
    expect(await third.closed()).toBe('')
    clients[0]!.socket.destroy()
  })

  test('may send several requests at once, and gets the answers in order', async () => {
    const client = await RawClient.to(await serve(new Api()))
    client.send('GET /healthz HTTP/1.1', 'Host: localhost', '', '')
    client.send('GET /nothing HTTP/1.1', 'Host: localhost', '', '')
    client.send('GET /readyz HTTP/1.1', 'Host: localhost', 'Connection: close', '', '')
    expect((await client.closed()).match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 404',
      'HTTP/1.1 200',
    ])
  })

  test('may send a body in chunks, and one that is too large is cut short', async () => {
    const api = new Api()
    const server = await serve(api)
    const small = await RawClient.to(server)
    small.send(...HEAD, 'Transfer-Encoding: chunked', 'Connection: close', '', 'a', '{"data":1}', '0', '', '')
    expect(await small.closed()).toMatch(/^HTTP\/1\.1 202 /)
    const large = await RawClient.to(server)
    large.send(...HEAD, 'Transfer-Encoding: chunked', '', '')
    for (let chunk = 0; chunk < 5; chunk++) large.send('4000', ' '.repeat(0x4000), '')
    expect(await large.until(/too-large/)).toMatch(/^HTTP\/1\.1 413 /)
    expect((await api.shaper.audit()).admitted).toBe(1)
  })
})

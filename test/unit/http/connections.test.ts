import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Connection } from '../../../src/http/connection.ts'
import { type HttpServer, type Servable, type ServeOptions, serveHttp } from '../../../src/http.ts'
import { Api, signal } from './api.ts'
import { RawClient, serve } from './raw-client.ts'

type Fetch = Servable['fetch']

/** A server before an app of one function. */
async function serveApp(fetch: Fetch, options: Partial<ServeOptions> = {}): Promise<HttpServer> {
  const app = { fetch, endStreams: () => undefined }
  const server = await serveHttp(app, { port: 0, hasTokens: false, ...options })
  onTestFinished(() => server.close(0))
  return server
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
/** Requests for /0, /1, ... in one piece. */
const gets = (count: number) => Array.from({ length: count }, (_, index) => get(`/${index}`)).join('')
const MEBIBYTE = 1_048_576
/** More than the buffers of both sockets hold. */
const LARGE = new Uint8Array(30 * MEBIBYTE)

/** A client that reads nothing until it is asked to, and only counts the bytes. */
class Reader {
  readonly socket: Socket
  readonly #closed: Promise<void>
  #bytes = 0

  private constructor(socket: Socket) {
    this.socket = socket
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
  }

  static async to({ address }: HttpServer): Promise<Reader> {
    const socket = connect(address.port, address.host)
    await once(socket, 'connect')
    return new Reader(socket)
  }

  /** Reads so many bytes, or all that come until the other side hangs up. */
  async read(most: number): Promise<number> {
    const read = new Promise<void>((resolve) => {
      this.socket.on('data', ({ length }) => {
        this.#bytes += length
        if (this.#bytes >= most) resolve()
      })
    })
    await Promise.race([read, this.#closed])
    return this.#bytes
  }
}

/** An app that answers each request with its path, when it may. */
function patientApp() {
  const begun: string[] = []
  const answers: (() => void)[] = []
  const arrived = vi.fn()
  const fetch: Fetch = ({ url }) =>
    new Promise((resolve) => {
      const { pathname } = new URL(url)
      begun.push(pathname)
      answers.push(() => resolve(new Response(`<${pathname}>`)))
      arrived()
    })
  return { fetch, begun, answers, arrived }
}

describe('requests that come in one piece', () => {
  test('are answered in order, a few at a time', async () => {
    const { fetch, begun, answers, arrived } = patientApp()
    const client = await RawClient.to(await serveApp(fetch))
    client.send(gets(100))
    for (let next = 0; next < 100; next++) {
      await expect.poll(() => answers.length).toBeGreaterThan(next)
      // All that were sent have been read by now, and those that wait were not handed to the app.
      expect(begun.length).toBeLessThanOrEqual(next + 8)
      answers[next]!()
    }
    const received = await client.until(/<\/99>/)
    expect(received.match(/<\/\d+>/g)).toEqual(Array.from({ length: 100 }, (_, index) => `</${index}>`))
    expect(arrived).toHaveBeenCalledTimes(100)
  })

  test('may be followed by one whose body comes later', async () => {
    const api = new Api({ '*': '1000, 1/s' })
    const client = await RawClient.to(await serve(api))
    const post = [
      'POST /v1/buckets/k/jobs HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      'Content-Length: 10',
      '',
      '{"dat',
    ].join('\r\n')
    client.send(get('/v1/limits').repeat(99) + get('/nothing') + post)
    await client.until(/not-found/)
    client.send('a":1}')
    expect(await client.until(/ 202 /)).toMatch(/HTTP\/1\.1 202 /)
    expect((await api.shaper.audit()).admitted).toBe(1)
  })

  test('are parsed in small pieces, and not while some of them wait', async () => {
    const { fetch, begun, answers } = patientApp()
    const server = await serveApp(fetch)
    const parsed = vi.spyOn(Connection.prototype, 'serve')
    const client = await RawClient.to(server)
    client.send(gets(1_000))
    const other = await RawClient.to(server)
    other.send(get('/other'))
    await expect.poll(() => begun).toContain('/other')
    // A piece of 1 KiB has 30 of them at most.
    expect(parsed.mock.calls.length).toBeLessThanOrEqual(40)
    const answering = setInterval(() => {
      for (const answer of answers.splice(0)) answer()
    })
    const received = await client.until(/<\/999>/)
    clearInterval(answering)
    parsed.mockRestore()
    expect(received.match(/<\/\d+>/g)).toEqual(Array.from({ length: 1_000 }, (_, index) => `</${index}>`))
  })

  test('may be large bodies', async () => {
    const api = new Api({ '*': '1000, 1/s' }, { maxValues: 100 })
    const client = await RawClient.to(await serve(api))
    const jobs = [{ key: 'k', data: 'x'.repeat(500_000) }]
    const body = JSON.stringify({ jobs })
    const post = [
      'POST /v1/jobs HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n')
    client.send(post.repeat(12) + get('/nothing'))
    const received = await client.until(/not-found/)
    expect(received.match(/HTTP\/1\.1 202/g)).toHaveLength(12)
    expect((await api.shaper.audit()).admitted).toBe(12)
  })

  test('wait until the client has read the answers before them', async () => {
    let begun = 0
    const server = await serveApp(() => {
      begun++
      return new Response(LARGE.subarray(0, 2 * MEBIBYTE))
    })
    const reader = await Reader.to(server)
    reader.socket.write(gets(100))
    await expect.poll(() => begun).toBeGreaterThan(0)
    // A whole answer to another client: what could begin has begun.
    const other = await Reader.to(server)
    other.socket.write(get('/other'))
    await other.read(2 * MEBIBYTE)
    expect(begun).toBeLessThanOrEqual(9)
  })
})

describe('an answer', () => {
  test('is under way until the client has read it', async () => {
    const sent = vi.fn()
    const server = await serveApp((_, { whenSent }) => {
      whenSent?.(sent)
      return new Response(LARGE)
    })
    const [reader, other] = [await Reader.to(server), await Reader.to(server)]
    reader.socket.write(get('/'))
    other.socket.write(get('/other'))
    await other.read(LARGE.length)
    await expect.poll(() => sent.mock.calls.length).toBeGreaterThan(0)
    expect(sent).toHaveBeenCalledTimes(1)
    await reader.read(LARGE.length)
    await expect.poll(() => sent.mock.calls.length).toBe(2)
  })

  test('that was never sent is no longer under way when the connection is closed', async () => {
    const sent = vi.fn()
    const second = signal()
    const server = await serveApp(async ({ url }, { whenSent }) => {
      whenSent?.(sent)
      if (url.endsWith('/0')) await new Promise(() => undefined)
      second.give()
      return new Response('behind the first')
    })
    const client = await RawClient.to(server)
    client.send(gets(2))
    await second.given
    client.socket.destroy()
    await expect.poll(() => sent.mock.calls.length).toBe(2)
  })

  test('that nothing reads is dropped when too many bytes wait, the largest first', async () => {
    const smaller = LARGE.subarray(20 * MEBIBYTE)
    let answered = 0
    const server = await serveApp(({ url }) => {
      answered++
      return new Response(url.endsWith('/smaller') ? smaller : LARGE)
    })
    const readers: Reader[] = []
    for (const path of ['/large', '/smaller', '/large']) {
      const reader = await Reader.to(server)
      reader.socket.write(get(path))
      readers.push(reader)
      await expect.poll(() => answered).toBe(readers.length)
    }
    await readers[1]!.read(smaller.length)
    const others = await Promise.all([readers[0]!.read(LARGE.length), readers[2]!.read(LARGE.length)])
    expect(others.map((bytes) => bytes >= LARGE.length).sort()).toEqual([false, true])
  })
})

test('connections of one address beyond its limit are closed, and others are accepted', async () => {
  const server = await serve(new Api(), { maxConnectionsPerAddress: 2 })
  const clients = [await RawClient.to(server), await RawClient.to(server)]
  for (const client of clients) {
    client.send(get('/healthz'))
    await client.until(/"ok"/)
  }
  expect(await (await RawClient.to(server)).closed()).toBe('')
  const { port, host } = server.address
  const other = connect({ port, host, localAddress: '127.0.0.2' })
  onTestFinished(() => void other.destroy())
  await once(other, 'connect')
  other.write(get('/healthz'))
  const [data] = await once(other, 'data')
  expect(String(data)).toContain('200 OK')
  clients[0]!.socket.destroy()
  // Its place is free as soon as the server notices.
  const ask = async () => {
    const client = await RawClient.to(server)
    client.send(get('/healthz'))
    return client.until(/"ok"/)
  }
  await expect.poll(ask).toContain('200 OK')
})

test('the description is written once, and all answers share its bytes', async () => {
  const api = new Api()
  const stringify = vi.spyOn(JSON, 'stringify')
  // As a service does before requests come.
  const described = api.app.describe()
  const first = await api.raw('GET', '/openapi.json')
  const second = await api.raw('GET', '/openapi.json')
  const written = stringify.mock.calls.filter(([value]) => value !== null && 'openapi' in Object(value))
  stringify.mockRestore()
  expect(written).toHaveLength(1)
  const text = await first.text()
  expect(await second.text()).toBe(text)
  expect(new TextDecoder().decode(described)).toBe(text)
  expect(first.headers.get('content-type')).toBe('application/json')
})

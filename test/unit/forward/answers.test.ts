import type { ServerResponse } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { allowing, farSide, forwarder, jobOf, rejection } from './forwarding.ts'

/** Kept, so that what becomes of it does not show in the memory that is measured. */
const ZEROS = Buffer.alloc(100_000_000)
const SECRET = 'sk_live_51Hq/+=x'

/** Sends one job, with a secret among the headers, to a server that answers so. */
async function answered(answer: (response: ServerResponse) => void, maxResponseBytes?: number) {
  const side = await farSide(answer)
  const headers = { [side.url]: { authorization: `Bearer \${STRIPE_KEY}` } }
  const forward = forwarder(allowing(side.url, { headers, maxResponseBytes }), {
    env: { STRIPE_KEY: SECRET },
  })
  const result = forward(jobOf({ method: 'POST', url: `${side.url}/charges`, body: { amount: 1 } }))
  return { result, side }
}

/** Writes without end, as fast as it is taken, and resolves with what was taken when the other side has hung up. */
function pour(response: ServerResponse, chunk: Buffer): Promise<number> {
  let taken = 0
  const more = () => {
    while (!response.destroyed && response.write(chunk)) taken += chunk.length
    taken += chunk.length
  }
  response.on('drain', more)
  more()
  return new Promise((resolve) => response.on('close', () => resolve(taken)))
}

describe('the result of a job', () => {
  test('is the status, a few headers and the body', async () => {
    const { result } = await answered((response) => {
      response.writeHead(201, {
        'content-type': 'application/json',
        'x-ratelimit-remaining': '7',
        RateLimit: '"a";r=7',
        'request-id': 'req_1',
        location: '/charges/1',
        'set-cookie': 'session=1',
        server: 'nginx',
        'x-internal': 'a',
      })
      response.end('{"id":"ü"}')
    })
    expect(await result).toEqual({
      status: 201,
      headers: {
        'content-type': 'application/json',
        'x-ratelimit-remaining': '7',
        ratelimit: '"a";r=7',
        'request-id': 'req_1',
        location: '/charges/1',
      },
      body: '{"id":"ü"}',
      encoding: 'text',
      truncated: false,
    })
  })

  test('has all lines of a list, and the first line of other headers', async () => {
    const { result } = await answered((response) => {
      response.writeHead(200, {
        RateLimit: ['"burst";r=5;t=1', '"daily";r=0;t=3600'],
        'RateLimit-Policy': ['"burst";q=5', '"daily";q=9'],
        'x-request-id': ['a', 'b'],
      })
      response.end()
    })
    expect((await result).headers).toEqual({
      ratelimit: '"burst";r=5;t=1, "daily";r=0;t=3600',
      'ratelimit-policy': '"burst";q=5, "daily";q=9',
      'x-request-id': 'a',
    })
  })

  test('is no success if any line of RateLimit says that a quota is exhausted', async () => {
    const { result } = await answered((response) => {
      response.writeHead(429, { RateLimit: ['"burst";r=5;t=1', '"daily";r=0;t=3600'] }).end()
    })
    expect(await rejection(result)).toMatchObject({ code: 'freeze', forMs: 3_600_000 })
  })

  test('has an empty body for 204, and base64 for binary bytes', async () => {
    const { result } = await answered((response) => void response.writeHead(204).end())
    expect(await result).toMatchObject({ status: 204, body: '', encoding: 'text', truncated: false })
    const bytes = Buffer.from([0xff, 0x00, 0x80])
    const { result: binary } = await answered((response) => void response.end(bytes))
    expect(await binary).toMatchObject({
      body: bytes.toString('base64'),
      encoding: 'base64',
      truncated: false,
    })
  })

  test('has bounded headers, in number and length', async () => {
    const names = Array.from(
      { length: 60 },
      (_, index) => `x-ratelimit-${'abcdefgh'[index % 8]}${'z'.repeat(index)}`,
    )
    const { result } = await answered((response) => {
      for (const name of names) response.setHeader(name, '1')
      response.setHeader('etag', 'e'.repeat(5_000))
      response.end()
    })
    const { headers } = await result
    expect(Object.keys(headers)).toHaveLength(32)
    expect(Object.values(headers).every((value) => value.length <= 1_024)).toBe(true)
  })

  test.each([
    [0, 'x'.repeat(10), '', true],
    [10, 'x'.repeat(9), 'x'.repeat(9), false],
    [10, 'x'.repeat(10), 'x'.repeat(10), false],
    [10, 'x'.repeat(11), 'x'.repeat(10), true],
    // Half a character is left out.
    [3, 'aüü', 'aü', true],
    [2, 'aü', 'a', true],
  ])('keeps %i bytes at most: of %j it has %j', async (most, body, kept, truncated) => {
    const { result } = await answered((response) => void response.end(body), most)
    expect(await result).toMatchObject({ body: kept, encoding: 'text', truncated })
  })

  test('keeps 64 KiB of an endless body, and closes the connection', async () => {
    let taken: Promise<number> | undefined
    const { result } = await answered((response) => {
      taken = pour(response, Buffer.alloc(16_384, 'x'))
    })
    expect(await result).toMatchObject({ status: 200, body: 'x'.repeat(65_536), truncated: true })
    // What lay in the buffers of both sides goes with it.
    expect(await taken).toBeLessThan(32_000_000)
  })
})

describe('a body that comes compressed unasked', () => {
  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    [' GZIP ', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('is decompressed: %s', async (coding, compress) => {
    const { result, side } = await answered((response) => {
      response.setHeader('content-encoding', coding)
      response.end(compress(Buffer.from('{"id":"ü"}')))
    })
    expect(await result).toMatchObject({ body: '{"id":"ü"}', encoding: 'text', truncated: false })
    expect(side.received[0]!.headers['accept-encoding']).toBe('identity')
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])(
    'that would decompress to a hundred megabytes is decompressed only as far as needed: %s',
    async (coding, compress) => {
      const bomb = compress(ZEROS)
      const { result } = await answered((response) => {
        response.setHeader('content-encoding', coding)
        response.end(bomb)
      }, 1_000)
      const before = process.memoryUsage().arrayBuffers
      expect(await result).toMatchObject({ body: '\0'.repeat(1_000), truncated: true })
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000)
    },
  )

  test.each([
    ['broken', 'gzip', Buffer.from('this is no gzip')],
    ['cut off', 'gzip', gzipSync(Buffer.from('x'.repeat(1_000))).subarray(0, 15)],
    ['broken, as Brotli', 'br', Buffer.from('this is no Brotli')],
    ['in a coding that is not known', 'zstd', Buffer.from([1, 2, 3])],
    ['in two codings', 'gzip, gzip', gzipSync(gzipSync(Buffer.from('x')))],
  ])('and cannot be decompressed is not kept, but its job is done: %s', async (_, coding, bytes) => {
    const { result } = await answered((response) => {
      response.setHeader('content-encoding', coding)
      response.end(bytes)
    })
    expect(await result).toMatchObject({ status: 200, body: '', encoding: 'text', truncated: true })
  })

  test('and breaks off is a network failure, which is retried', async () => {
    const bytes = gzipSync(Buffer.from(Array.from({ length: 5_000 }, (_, index) => index).join()))
    const { result } = await answered((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bytes.length })
      response.write(bytes.subarray(0, 2_000), () => response.destroy())
    })
    await expect(result).rejects.toMatchObject({ code: 'request-failed' })
  })
})

describe('a refusal', () => {
  const refused = async (status: number, body: string, headers: Record<string, string> = {}) => {
    const { result } = await answered((response) => void response.writeHead(status, headers).end(body))
    return rejection(result)
  }

  test.each([
    ['{"error":{"code":"card_declined","type":"card_error","message":"+15551234"}}', {}, ' (card_declined)'],
    ['{"error":{"type":"invalid_request_error"}}', {}, ' (invalid_request_error)'],
    ['{"code":21211,"message":"The number +15551234 is not valid"}', {}, ' (21211)'],
    ['{"errors":[{"code":"E.12-a"}]}', {}, ' (E.12-a)'],
    ['{"error":"invalid +15551234"}', { 'request-id': 'req_7' }, ' (request-id req_7)'],
    ['{"code":"taken"}', { 'x-request-id': 'a:b-1' }, ' (taken, request-id a:b-1)'],
    ['Bad request: +15551234', {}, ''],
    ['{"code":"+15551234"}', {}, ''],
    ['{"code":15551234}', {}, ''],
    ['{"code":"the number +15551234"}', { 'request-id': 'a +15551234' }, ''],
    ['{"code":{"code":"+15551234"}}', {}, ''],
    ['[]', {}, ''],
    ['null', {}, ''],
    ['', {}, ''],
  ])(
    'is identified by its code, never by prose, which may repeat what was sent: %s',
    async (body, headers, expected) => {
      const error = await refused(422, body, headers)
      expect(error).toMatchObject({ code: 'final' })
      expect((error as Error).message).toMatch(/^POST http:\/\/127\.0\.0\.1:\d+ answered 422/)
      expect((error as Error).message.replace(/^.* 422/, '')).toBe(`${expected}, not tried again`)
    },
  )

  test('includes redirects', async () => {
    const side = await farSide()
    for (const status of [301, 302, 303, 307, 308]) {
      const error = await refused(status, '', { location: `${side.url}/` })
      expect(error).toMatchObject({ code: 'final' })
      expect((error as Error).message).toMatch(`answered ${status}, redirects are not followed`)
    }
    expect(side.received).toEqual([])
  })

  test.each([400, 500, 503])('with %i and a body without end is known by its status', async (status) => {
    let taken: Promise<number> | undefined
    const { result } = await answered((response) => {
      response.writeHead(status)
      taken = pour(response, Buffer.alloc(16_384, 'x'))
    })
    const error = await rejection(result)
    expect(error).toMatchObject({ code: { 400: 'final', 500: 'request-failed', 503: 'freeze' }[status] })
    expect(await taken).toBeLessThan(32_000_000)
  })
})

describe('a secret that the third party echoes', () => {
  const hidden = '*'.repeat(SECRET.length)

  test.each([
    ['as it is', SECRET, hidden],
    [
      'in JSON',
      JSON.stringify({ headers: { authorization: `Bearer ${SECRET}` } }),
      `{"headers":{"authorization":"Bearer ${hidden}"}}`,
    ],
    ['with its slash escaped', SECRET.replace('/', '\\/'), '*'.repeat(SECRET.length + 1)],
    ['in a URL', encodeURIComponent(SECRET), '*'.repeat(encodeURIComponent(SECRET).length)],
    ['twice', `${SECRET}${SECRET}`, hidden + hidden],
  ])('is not in the result: %s', async (_, body, kept) => {
    const { result } = await answered((response) => void response.end(body))
    expect(await result).toMatchObject({ body: kept })
  })

  test('is not in it either when it is compressed, cut in two, in a header, or in bytes that are no text', async () => {
    const zipped = await answered((response) => {
      response.setHeader('content-encoding', 'gzip').setHeader('etag', `"${SECRET}"`).end(gzipSync(SECRET))
    })
    expect(await zipped.result).toMatchObject({ body: hidden, headers: { etag: `"${hidden}"` } })
    const cut = await answered((response) => void response.end(`ab${SECRET}`), 6)
    expect(await cut.result).toMatchObject({ body: 'ab****', truncated: true })
    // What is kept ends within the secret, and so does the first piece that comes.
    const cutInPieces = await answered((response) => {
      response.write(`ab${SECRET.slice(0, 5)}`, () => setTimeout(() => response.end(SECRET.slice(5)), 20))
    }, 6)
    expect(await cutInPieces.result).toMatchObject({ body: 'ab****', truncated: true })
    const inPieces = await answered((response) => {
      response.write(SECRET.slice(0, 5), () => response.end(SECRET.slice(5)))
    })
    expect(await inPieces.result).toMatchObject({ body: hidden })
    const binary = Buffer.concat([Buffer.from([0xff]), Buffer.from(SECRET)])
    const bytes = await answered((response) => void response.end(binary))
    const expected = Buffer.concat([Buffer.from([0xff]), Buffer.from(hidden)]).toString('base64')
    expect(await bytes.result).toMatchObject({ body: expected, encoding: 'base64' })
  })

  const wide = (text: string) => [Buffer.from(text, 'utf16le'), Buffer.from(text, 'utf16le').swap16()]

  test.each(wide(SECRET).map((bytes, index) => [['little', 'big'][index], bytes] as const))(
    'is not in it in UTF-16 either, %s-endian',
    async (_, bytes) => {
      const { result } = await answered((response) => void response.end(Buffer.concat([bytes, bytes])))
      // Big-endian text reads as little-endian between its first byte and its last.
      expect((await result).body).toMatch(/^\0?\*+$/)
      expect((await result).body).toHaveLength(4 * SECRET.length)
    },
  )

  test.each(['', 'a', 'ab', 'abc', 'user:'])('is not in base64, behind %j', async (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const body = Buffer.from(`${before}${SECRET}!!`).toString(encoding)
      const { result } = await answered((response) => void response.end(body))
      const kept = Buffer.from((await result).body.replaceAll('*', 'A'), encoding).toString('latin1')
      // A byte at each end shares its character with a neighbour.
      for (let at = 0; at + 3 < SECRET.length; at++) expect(kept).not.toContain(SECRET.slice(at, at + 3))
      expect((await result).body).toMatch(/\*{20,}/)
    }
  })

  test.each([
    ['cut off at its end', `ab${SECRET.slice(0, 9)}`, `ab${'*'.repeat(9)}`],
    ['cut off at its start', `${SECRET.slice(7)}ab`, `${'*'.repeat(9)}ab`],
    ['a piece of it', SECRET.slice(3, 12), '*'.repeat(9)],
    [
      'an end and a beginning',
      `${SECRET.slice(-7)} ${SECRET.slice(0, 6)}`,
      `${'*'.repeat(7)} ${'*'.repeat(6)}`,
    ],
    ['a piece that is too short to say much', `ab${SECRET.slice(0, 5)}`, `ab${SECRET.slice(0, 5)}`],
    ['in a URL that is cut', `a=${encodeURIComponent(SECRET).slice(0, -2)}`, `a=${'*'.repeat(20)}`],
  ])('is not in an answer with %s', async (_, body, kept) => {
    const { result } = await answered((response) => void response.end(body))
    expect(await result).toMatchObject({ body: kept })
  })

  test('is not in a piece of UTF-16, nor in a piece in a header', async () => {
    for (const bytes of wide(SECRET)) {
      const { result } = await answered((response) => void response.end(bytes.subarray(0, 21)))
      expect((await result).body).toMatch(/^\0?\*{20,21}$/)
    }
    const { result } = await answered((response) => {
      response.setHeader('etag', `"${SECRET.slice(0, 10)}`).end()
    })
    expect((await result).headers).toEqual({ etag: `"${'*'.repeat(10)}` })
  })

  test.each([
    ['as a part', 206, {}],
    ['with a Content-Range', 200, { 'content-range': 'bytes 3-9/99' }],
  ])('is not kept of an answer that comes %s unasked', async (_, status, headers) => {
    const { result } = await answered((response) => {
      response.writeHead(status, headers).end(`x ${SECRET.slice(3, 9)} y`)
    })
    expect(await result).toMatchObject({ status, body: '', truncated: true })
  })

  test('where there is none, parts are kept', async () => {
    const side = await farSide((response) => void response.writeHead(206).end('part'))
    const result = forwarder(allowing(side.url))(jobOf({ method: 'GET', url: `${side.url}/` }))
    expect(await result).toMatchObject({ status: 206, body: 'part', truncated: false })
  })

  test('is not in an error', async () => {
    for (const status of [302, 400, 422, 429, 500, 503]) {
      const { result } = await answered((response) => {
        const headers = { location: `/${SECRET}`, 'request-id': SECRET, 'retry-after': SECRET }
        response
          .writeHead(status, SECRET, headers)
          .end(JSON.stringify({ code: SECRET, error: { code: SECRET } }))
      })
      const error = await rejection(result)
      expect(`${String(error)} ${JSON.stringify(error)} ${(error as Error).stack}`).not.toContain('sk_live')
    }
  })
})

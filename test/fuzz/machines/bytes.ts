import { ok } from 'node:assert/strict'
import { connect } from 'node:net'
import fc from 'fast-check'
import { type HttpServer, serveHttp } from '../../../src/http.ts'
import { Api } from '../../unit/http/api.ts'
import { checkAnswers } from '../http-answers.ts'
import { machine } from '../machine.ts'
import { oddText } from '../odd-values.ts'

const CRLF = '\r\n'
const end = fc.constantFrom(CRLF, CRLF, CRLF, CRLF, '\n', '\r', '\r\n ', '')
const target = fc.oneof(
  fc.constantFrom(
    '/healthz',
    '/v1/buckets/a/jobs',
    '/v1/buckets/a',
    '/v1/jobs',
    '*',
    '/',
    '//',
    'http://localhost/healthz',
    'http://evil.example/healthz',
    'localhost:80',
    '/v1/buckets?sort=key',
    '/v1/buckets/%00',
    '/é',
    '/#a',
    '/?',
    'healthz',
    '',
  ),
  oddText,
)
const startLine = fc
  .tuple(
    fc.constantFrom(
      'GET',
      'POST',
      'PUT',
      'DELETE',
      'HEAD',
      'OPTIONS',
      'CONNECT',
      'TRACE',
      'PRI',
      'get',
      'G E T',
      '',
      'BREW',
    ),
    fc.constantFrom(' ', ' ', ' ', '\t', '  ', ''),
    target,
    fc.constantFrom(
      ' HTTP/1.1',
      ' HTTP/1.1',
      ' HTTP/1.1',
      ' HTTP/1.0',
      ' HTTP/2.0',
      ' HTTP/1.',
      ' http/1.1',
      '',
      ' HTTP/0.9',
    ),
  )
  .map((parts) => parts.join(''))
const header = fc.oneof(
  fc.constantFrom(
    'Host: localhost',
    'Host: localhost',
    'Host: localhost',
    'Host:',
    'Host: a, b',
    'Content-Type: application/json',
    'Content-Length: 10',
    'Content-Length: 0',
    'Content-Length: -1',
    'Content-Length: 1e1',
    'Content-Length: 99999999999999999999',
    'Content-Length : 5',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding: gzip',
    'Connection: close',
    'Connection: keep-alive',
    'Connection: upgrade',
    'Upgrade: websocket',
    'Upgrade: h2c',
    'Expect: 100-continue',
    'Expect: 200-ok',
    'TE: trailers',
    'Trailer: X',
    'X\u0000: a',
    ': a',
    'A',
    ' folded',
    'X: \u0001',
    'X: é',
  ),
  fc.tuple(oddText, oddText).map((pair) => pair.join(': ')),
  fc.integer({ min: 1, max: 40 }).map((kib) => `X: ${'a'.repeat(kib * 1_024)}`),
)
const BODY = '{"data":1}'
const body = fc.oneof(
  fc.constantFrom(
    '',
    BODY,
    `a${CRLF}${BODY}${CRLF}0${CRLF}${CRLF}`,
    `A;x=y${CRLF}${BODY}${CRLF}0${CRLF}X: y${CRLF}${CRLF}`,
    `zz${CRLF}`,
    `ffffffffffffffff${CRLF}${BODY}`,
    `-1${CRLF}${BODY}`,
    `a${CRLF}${BODY}`,
    `a\n${BODY}\n0\n\n`,
    `0${CRLF}`,
    '{"data":',
  ),
  oddText,
)
const request = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(startLine, end, fc.array(fc.tuple(header, end), { maxLength: 6 }), end, body)
      .map(([start, first, headers, last, content]) =>
        [start, first, ...headers.flat(), last, content].join(''),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
      `POST /v1/buckets/a/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n${BODY}`,
      `POST /v1/buckets/a/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\na\r\n${BODY}\r\n0\r\n\r\n`,
    ),
  },
  { weight: 1, arbitrary: oddText },
)
const edit = fc.record({ at: fc.nat(400), remove: fc.nat(8), bytes: fc.uint8Array({ maxLength: 6 }) })
const input = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 3 }),
  edits: fc.array(edit, { maxLength: 2 }),
  /** Where the bytes are cut into packets, and perhaps end too early. */
  cuts: fc.array(fc.nat(400), { maxLength: 2 }),
  isCut: fc.boolean(),
  isReset: fc.boolean(),
})
type Input = typeof input extends fc.Arbitrary<infer Value> ? Value : never

function bytesOf({ requests, edits, cuts, isCut }: Input): Buffer {
  let bytes = Buffer.from(requests.join(''), 'utf8')
  for (const { at, remove, bytes: added } of edits) {
    const place = at % (bytes.length + 1)
    bytes = Buffer.concat([bytes.subarray(0, place), added, bytes.subarray(place + remove)])
  }
  return isCut && cuts.length > 0 ? bytes.subarray(0, cuts[0]! % (bytes.length + 1)) : bytes
}

/** Sends the bytes, ends its side, and resolves with all that came back when the other side has closed, too. */
function exchange({ address }: HttpServer, given: Input): Promise<Buffer> {
  const bytes = bytesOf(given)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(address.port, address.host)
    socket.on('data', (chunk) => void chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Buffer.concat(chunks)))
    socket.on('connect', () => {
      socket.setNoDelay(true)
      let from = 0
      for (const cut of [...given.cuts].sort((one, other) => one - other)) {
        socket.write(bytes.subarray(from, Math.max(from, cut)))
        from = Math.max(from, cut)
      }
      if (given.isReset) socket.write(bytes.subarray(from), () => socket.resetAndDestroy())
      else socket.end(bytes.subarray(from))
    })
  })
}

/** Bytes at a socket of the server: whole answers without a failure, or a closed connection; and it goes on serving others. */
export const bytes = machine({
  name: 'bytes over HTTP',
  inputs: input,
  few: 200,
  share: 7,
  open: async () => {
    const api = new Api({ '*': '50, 10/s' })
    const server = await serveHttp(api.app, {
      port: 0,
      hasTokens: false,
      headersTimeoutMs: 2_000,
      requestTimeoutMs: 2_000,
      idleTimeoutMs: 2_000,
    })
    const give = async (given: Input) => {
      const answer = await exchange(server, given)
      // What was cut off by our own reset may end anywhere.
      if (!given.isReset) checkAnswers(answer)
      const good = await fetch(`${server.url}/healthz`, { headers: { Connection: 'close' } })
      ok(good.status === 200, `a good request afterwards: ${good.status}`)
      await good.arrayBuffer()
      return 1
    }
    return { give, close: () => server.close(0) }
  },
})

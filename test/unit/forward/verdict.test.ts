import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { isVelvetRopeError } from '../../../src/core/errors.ts'
import { statusClassOf, verdictOf } from '../../../src/forward/verdict.ts'
import { allowing, farSide, forwarder, jobOf } from './forwarding.ts'

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

/** What a status has to lead to, said another way than the code says it. */
function expectedOf(status: number): string {
  if ([429, 503, 529].includes(status)) return 'freeze'
  if (status < 200 || [408, 425].includes(status) || String(status).startsWith('5')) return 'request-failed'
  return String(status).startsWith('2') ? 'completed' : 'final'
}

const CODES = { done: 'completed', later: 'freeze', again: 'request-failed', never: 'final' }

test('every status has a verdict', () => {
  expect(range(100, 599).map((status) => [status, CODES[verdictOf(status)]])).toEqual(
    range(100, 599).map((status) => [status, expectedOf(status)]),
  )
  // What is no class counts as 5xx.
  expect([600, 700, 999].map(verdictOf)).toEqual(['again', 'again', 'again'])
})

test('every status has a class; a 1xx alone counts as no response', () => {
  const classes = [undefined, 100, 101, 199, 200, 299, 300, 399, 400, 429, 499, 500, 529, 599, 600, 999].map(
    statusClassOf,
  )
  const [error, success, redirect, client, server] = ['error', '2xx', '3xx', '4xx', '5xx']
  expect(classes).toEqual([
    ...[error, error, error, error, success, success, redirect, redirect],
    ...[client, client, client, server, server, server, server, server],
  ])
})

test('each status from 200 to 599 leads to its outcome, and its class is reported once', async () => {
  const side = await farSide((response, { path }) => {
    const status = Number(path.slice(1))
    response.writeHead(status, { location: '/200' }).end()
  })
  const classes: string[] = []
  const forward = forwarder(allowing(side.url), {
    onResponse: (statusClass) => void classes.push(statusClass),
  })
  const outcomes: [number, string][] = []
  for (const status of range(200, 599)) {
    const job = jobOf({ method: 'GET', url: `${side.url}/${status}` })
    const outcome = await forward(job).then(
      (result) => (result.status === status ? 'completed' : `completed with ${result.status}`),
      (error: unknown) => (isVelvetRopeError(error) ? error.code : String(error)),
    )
    outcomes.push([status, outcome])
  }
  expect(outcomes).toEqual(range(200, 599).map((status) => [status, expectedOf(status)]))
  expect(classes).toEqual(range(200, 599).map((status) => `${Math.floor(status / 100)}xx`))
  // Nothing was followed, and nothing was sent twice.
  expect(side.received.map(({ path }) => Number(path.slice(1)))).toEqual(range(200, 599))
})

/** Answers with these bytes, whatever is asked, and hangs up. */
async function rawSide(text: string) {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(text, 'latin1'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  ['no bytes', '', 'error', 'UND_ERR_SOCKET'],
  ['100 alone', 'HTTP/1.1 100 Continue\r\n\r\n', 'error', 'UND_ERR_SOCKET'],
  [
    'a length and chunks',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n2\r\nab\r\n0\r\n\r\n',
    'error',
    'HTTPParserError',
  ],
  ['103 alone', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', 'error', 'UND_ERR_SOCKET'],
  [
    '101',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'error',
    'UND_ERR_SOCKET',
  ],
  ['what is not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'error', 'HTTPParserError'],
  ['headers without end', `HTTP/1.1 200 OK\r\na: ${'x'.repeat(20_000)}`, 'error', 'UND_ERR_HEADERS_OVERFLOW'],
  [
    'two lengths',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    'error',
    'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  ],
  ['a body that breaks off', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab', '2xx', 'UND_ERR_SOCKET'],
])('%s instead of a response is a failure that is retried', async (_, bytes, statusClass, code) => {
  const url = await rawSide(bytes)
  const classes: string[] = []
  const forward = forwarder(allowing(url), { onResponse: (given) => void classes.push(given) })
  await expect(forward(jobOf({ method: 'GET', url: `${url}/` }))).rejects.toMatchObject({
    code: 'request-failed',
    status: undefined,
    message: `GET ${url} failed: ${code}`,
  })
  expect(classes).toEqual([statusClass])
})

test('1xx before a response are skipped', async () => {
  const url = await rawSide(
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok',
  )
  const classes: string[] = []
  const forward = forwarder(allowing(url), { onResponse: (given) => void classes.push(given) })
  expect(await forward(jobOf({ method: 'GET', url: `${url}/` }))).toMatchObject({ status: 201, body: 'ok' })
  expect(classes).toEqual(['2xx'])
})

test('a refused connection is a failure that is retried', async () => {
  const side = await farSide()
  await new Promise((resolve) => side.server.close(resolve))
  const forward = forwarder(allowing(side.url))
  await expect(forward(jobOf({ method: 'GET', url: `${side.url}/` }))).rejects.toMatchObject({
    code: 'request-failed',
    message: `GET ${side.url} failed: ECONNREFUSED`,
  })
})

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { HandlerTimeoutError } from '../../../src/core/handler-errors.ts'
import { allowing, farSide, forwarder, jobOf, rejection } from './forwarding.ts'

/** A byte now and then, for ever. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), 5)
  response.on('close', () => clearInterval(timer))
}

const SILENT = {
  'never answers': () => undefined,
  'begins to answer and stops': (response: ServerResponse) => void response.writeHead(200).write('x'),
  'drips a body': (response: ServerResponse) => drip(response.writeHead(200)),
}

test.each(Object.entries(SILENT))('a server that %s gets as long as the job says', async (_, answer) => {
  const side = await farSide(answer)
  const forward = forwarder(allowing(side.url, { timeoutMs: 600_000 }))
  const error = await rejection(forward(jobOf({ method: 'GET', url: `${side.url}/`, timeoutMs: 60 })))
  expect(error).toMatchObject({
    code: 'request-failed',
    message: `GET ${side.url} failed: no response within 60 ms`,
  })
})

test('otherwise as long as the configuration says', async () => {
  const side = await farSide(() => undefined)
  const forward = forwarder(allowing(side.url, { timeoutMs: 60 }))
  await expect(forward(jobOf({ method: 'GET', url: `${side.url}/` }))).rejects.toThrow(
    'no response within 60 ms',
  )
})

test('a job that was accepted with a longer time gets no more than the longest', async () => {
  const side = await farSide(() => undefined)
  const forward = forwarder(allowing(side.url, { timeoutMs: 10, maxTimeoutMs: 60 }))
  const error = await rejection(forward(jobOf({ method: 'GET', url: `${side.url}/`, timeoutMs: 600_000 })))
  expect(error).toMatchObject({ message: `GET ${side.url} failed: no response within 60 ms` })
})

test('the time includes the name: a request whose name comes too late is never sent', async () => {
  const side = await farSide()
  let answer: (addresses: string[]) => void = () => undefined
  const resolve = () =>
    new Promise<string[]>((given) => {
      answer = given
    })
  const url = `http://slow.test:${side.port}`
  const classes: string[] = []
  const onResponse = (statusClass: string) => void classes.push(statusClass)
  const forward = forwarder({ allow: [url], allowPrivate: ['slow.test'] }, { resolve, onResponse })
  const late = forward(jobOf({ method: 'POST', url: `${url}/late`, timeoutMs: 20 }))
  await expect(late).rejects.toThrow('no response within 20 ms')
  const inTime = forward(jobOf({ method: 'GET', url: `${url}/in-time` }))
  answer(['127.0.0.1'])
  await nextTurn()
  answer(['127.0.0.1'])
  await inTime
  expect(side.received.map(({ path }) => path)).toEqual(['/in-time'])
  expect(classes).toEqual(['error', '2xx'])
})

test('an error response whose body does not end in time counts all the same', async () => {
  const side = await farSide((response) => drip(response.writeHead(402, { 'request-id': 'req_1' })))
  const forward = forwarder(allowing(side.url))
  // Time enough for the head of the answer to come.
  const error = await rejection(forward(jobOf({ method: 'GET', url: `${side.url}/`, timeoutMs: 2_000 })))
  expect(error).toMatchObject({ code: 'final', message: `GET ${side.url} answered 402, not tried again` })
})

test.each([
  [500, 'request-failed'],
  [503, 'freeze'],
])('%i is judged immediately, whatever its body does', async (status, code) => {
  const side = await farSide((response) => drip(response.writeHead(status)))
  const forward = forwarder(allowing(side.url))
  await expect(forward(jobOf({ method: 'GET', url: `${side.url}/` }))).rejects.toMatchObject({ code })
})

test('an aborted job aborts its request, with its own reason', async () => {
  const hungUp: Promise<unknown>[] = []
  const stop = new AbortController()
  const reason = new HandlerTimeoutError('job-1', 5)
  const side = await farSide((response) => {
    hungUp.push(once(response, 'close'))
    stop.abort(reason)
  })
  const classes: string[] = []
  const forward = forwarder(allowing(side.url), {
    onResponse: (statusClass) => void classes.push(statusClass),
  })
  const job = jobOf({ method: 'GET', url: `${side.url}/` }, { signal: stop.signal })
  expect(await rejection(forward(job))).toBe(reason)
  expect(hungUp).toHaveLength(1)
  await hungUp[0]
  expect(classes).toEqual(['error'])
})

test('a job that was aborted before is not sent', async () => {
  const side = await farSide()
  const classes: string[] = []
  const forward = forwarder(allowing(side.url), {
    onResponse: (statusClass) => void classes.push(statusClass),
  })
  const job = jobOf(
    { method: 'GET', url: `${side.url}/` },
    { signal: AbortSignal.abort(new Error('closed')) },
  )
  await expect(forward(job)).rejects.toThrow('closed')
  // Whatever was sent before this one would have arrived.
  await forward(jobOf({ method: 'GET', url: `${side.url}/after` }))
  expect([side.received.map(({ path }) => path), classes]).toEqual([['/after'], ['2xx']])
})

test('close waits for pending requests, and then closes the connections', async () => {
  const answers: (() => void)[] = []
  const side = await farSide((response) => void answers.push(() => response.end('late')))
  const forward = forwarder(allowing(side.url))
  const sockets = once(side.server, 'connection')
  const results = [1, 2].map((nth) => forward(jobOf({ method: 'GET', url: `${side.url}/${nth}` })))
  const [socket] = await sockets
  const ended: string[] = []
  const closed = [forward.close(), forward.close()].map((closing) =>
    closing.then(() => void ended.push('closed')),
  )
  for (const result of results) void result.then(({ body }) => ended.push(body))
  while (answers.length < 2) await nextTurn()
  expect(ended).toEqual([])
  const gone = once(socket, 'close')
  for (const answer of answers) answer()
  await Promise.all(closed)
  expect(ended).toEqual(['late', 'late', 'closed', 'closed'])
  await gone
})

test('close does not wait forever: each request has a time limit, and a failed one counts as ended', async () => {
  const side = await farSide(() => undefined)
  const forward = forwarder(allowing(side.url))
  const failed = forward(jobOf({ method: 'GET', url: `${side.url}/`, timeoutMs: 30 })).catch(() => 'failed')
  await forward.close()
  expect(await failed).toBe('failed')
})

import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type JobView, Shaper } from '../../src/index.ts'
import { built } from '../support/built.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const SECRET = 'sk_live_51Hq'
const HOOK = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** The worker as it is deployed, with everything from its environment. */
function launchWorker(env: Record<string, string>) {
  const child = spawn(process.execPath, [built('workers/http-forward.ts')], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let written = ''
  const watchers = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      written += chunk
      for (const look of watchers) look()
    })
  }
  const ended = new Promise<{ code: number | null; written: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, written }))
  })
  const said = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => (written.includes(text) ? resolve() : undefined)
      watchers.add(look)
      void ended.then(({ code }) => reject(new Error(`ended with ${code}, without ${text}: ${written}`)))
      look()
    })
  return { said, ended, terminate: () => child.kill('SIGTERM') }
}

test('a worker process sends jobs as requests, obeys the other side, and ends after a signal', async () => {
  const calls: string[] = []
  const server = createServer((request, response) => {
    request.resume()
    const { authorization, 'idempotency-key': id, 'shaper-attempt': attempt } = request.headers
    const signed = request.headers['webhook-signature']?.toString().startsWith('v1,')
    calls.push(`${request.url} ${id} ${attempt} ${authorization} ${signed}`)
    const isFirst = calls.length === 1
    if (isFirst) response.setHeader('retry-after', '1')
    const status = isFirst ? 429 : request.url === '/bad' ? 400 : 200
    response.writeHead(status).end(`you sent ${authorization}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise((resolve) => void server.close(() => resolve()))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const prefix = uniquePrefix()
  const shaper = new Shaper('calls', { limits: { '*': '20, 20/s' }, connection: redisAddress(), prefix })
  onTestFinished(() => shaper.close())
  const worker = launchWorker({
    REDIS_URL: redisAddress(),
    VELVET_ROPE_NAME: 'calls',
    VELVET_ROPE_LIMIT: '20, 20/s',
    VELVET_ROPE_PREFIX: prefix,
    VELVET_ROPE_CONCURRENCY: '1',
    VELVET_ROPE_ALLOW: url,
    VELVET_ROPE_ALLOW_PRIVATE: '127.0.0.1',
    VELVET_ROPE_HEADERS: JSON.stringify({ [url]: { authorization: `Bearer \${STRIPE_KEY}` } }),
    VELVET_ROPE_SIGNING_SECRET: HOOK,
    STRIPE_KEY: SECRET,
  })
  await worker.said('"message":"working"')
  for (const path of ['one', 'two', 'bad']) {
    const data = { method: 'POST', url: `${url}/${path}`, body: { path } }
    await shaper.enqueue('api/acme', data, { id: path })
  }
  await worker.said('"message":"attempt failed"')
  const isOver = ({ state }: JobView) => state === 'completed' || state === 'failed'
  for (const id of ['one', 'two', 'bad']) while (!isOver((await shaper.job(id))!)) await nextTurn()
  const sent = (path: string) => `/${path} api:${path} 1 Bearer ${SECRET} true`
  expect(calls).toEqual([sent('one'), sent('one'), sent('two'), sent('bad')])
  expect(await shaper.job('one')).toMatchObject({
    state: 'completed',
    attempt: 1,
    result: { status: 200, body: `you sent Bearer ${'*'.repeat(SECRET.length)}` },
  })
  worker.terminate()
  const { code, written } = await worker.ended
  expect(code).toBe(0)
  expect(written).toContain(`POST ${url} answered 400, not tried again`)
  expect(written).not.toMatch(/sk_live|MfKQ9r8G/)
})

test.each([
  [{ VELVET_ROPE_ALLOW: 'api.stripe.com' }, 'VELVET_ROPE_ALLOW: forward: expected allow to be an origin'],
  [
    { STRIPE_KEY: '' },
    'expected the environment to have STRIPE_KEY, which headers of https://api.stripe.com,',
  ],
  [{ VELVET_ROPE_SIGNING_SECRET: SECRET }, 'expected the variable of signing.secret to be whsec_ and base64'],
  [
    { VELVET_ROPE_TIMEOUT_MS: '0' },
    'VELVET_ROPE_TIMEOUT_MS: expected forward.timeoutMs to be at least 1 ms, got: 0',
  ],
])('a worker process that cannot run reports that in one line, without secrets: %j', async (env, message) => {
  const { code, written } = await launchWorker({
    REDIS_URL: `redis://:${SECRET}@127.0.0.1:1`,
    VELVET_ROPE_NAME: 'calls',
    VELVET_ROPE_LIMIT: '20, 20/s',
    VELVET_ROPE_ALLOW: 'https://api.stripe.com',
    VELVET_ROPE_HEADERS: `{"https://api.stripe.com":{"authorization":"Bearer \${STRIPE_KEY}"}}`,
    STRIPE_KEY: SECRET,
    ...env,
  }).ended
  expect(code).toBe(1)
  expect(written).toMatch(/^velvet-rope: [^\n]*\n$/)
  expect(written).toContain(message)
  expect(written).not.toContain('sk_live')
})

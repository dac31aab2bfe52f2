import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../../src/index.ts'
import { eventually } from '../../support/patience.ts'
import { startRedis } from '../../support/redis-server.ts'
import { logOf, post, serve } from './running.ts'

const RUNNING = 20
const WAITING = 1_000

/** Answers no request until the test lets it. */
async function slowThirdParty() {
  const held: ServerResponse[] = []
  const ids: string[] = []
  let onFull: () => void = () => undefined
  const whenFull = new Promise<void>((resolve) => {
    onFull = resolve
  })
  const server = createServer((request, response) => {
    held.push(response)
    ids.push(String(request.headers['idempotency-key']).replace(/^.*:/, ''))
    if (held.length === RUNNING) onFull()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ids,
    whenFull,
    answerAll: () => {
      for (const response of held.splice(0)) response.end('done')
    },
  }
}

/** A service with 20 handlers that run and 1,000 jobs that wait. */
async function busyService(settings: object) {
  const api = await slowThirdParty()
  const service = await serve(
    {
      limits: { '*': '2000, 500/s' },
      forward: { allow: [api.url], allowPrivate: ['127.0.0.1'] },
      work: { concurrency: RUNNING },
      ...settings,
    },
    'redis' in settings ? ['--work'] : [],
  )
  const ids: string[] = []
  for (let from = 0; from < RUNNING + WAITING; from += 510) {
    const jobs = Array.from({ length: 510 }, (_, index) => {
      const id = `job-${from + index}`
      ids.push(id)
      return { key: `key-${index % 4}`, id, data: { method: 'GET', url: api.url } }
    })
    expect((await post(`${service.url}/v1/jobs`, { jobs })).status).toBe(202)
  }
  await api.whenFull
  return { api, service, ids }
}

async function expectDraining(url: string): Promise<void> {
  const refused = await post(`${url}/v1/buckets/key-0/jobs`, {
    data: { method: 'GET', url: 'http://127.0.0.1' },
  })
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(refused.body).toMatchObject({ type: expect.stringContaining('temporary-reduced-capacity') })
  expect((await fetch(`${url}/readyz`)).status).toBe(503)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
}

test('SIGTERM in memory: handlers end, waiting jobs are named, and it exits with 0', async () => {
  const { api, service, ids } = await busyService({})
  service.signal('SIGTERM')
  await service.said('"message":"shutting down')
  await expectDraining(service.url)
  api.answerAll()
  const { code, stderr } = await service.ended
  expect(code).toBe(0)
  expect(api.ids.length).toBe(RUNNING)
  const log = logOf(stderr)
  const named = log.filter(({ message }) => message === 'lost: it was waiting in memory')
  expect(new Set([...named.map(({ id }) => id), ...api.ids])).toEqual(new Set(ids))
  expect(named.length).toBe(WAITING)
  expect(log).toContainEqual(expect.objectContaining({ level: 'warn', jobs: WAITING }))
  expect(log.filter(({ level }) => level === 'error')).toEqual([])
})

test('SIGTERM on Redis: handlers end, waiting jobs stay, and it exits with 0', async () => {
  const redis = await startRedis()
  const { api, service, ids } = await busyService({ redis: redis.url })
  service.signal('SIGTERM')
  await service.said('"message":"shutting down')
  await expectDraining(service.url)
  api.answerAll()
  expect((await service.ended).code).toBe(0)
  await using shaper = new Shaper('main', { limits: { '*': '2000, 500/s' }, connection: redis.url })
  const { admitted, waiting, handed, running, retrying, ended } = await shaper.audit()
  expect({ admitted, running, retrying, ended }).toEqual({
    admitted: RUNNING + WAITING,
    running: 0,
    retrying: 0,
    ended: RUNNING,
  })
  expect(waiting + handed).toBe(WAITING)
  // One after the other: each has two seconds of its own.
  const states: unknown[] = []
  for (const id of ids) states.push((await shaper.job(id))?.state)
  expect(states.filter((state) => state === 'completed').length).toBe(RUNNING)
  expect(states).not.toContain(undefined)
})

/** The deadline of the tests below; their handlers never end. */
const DRAIN_MS = 1_000

async function stopAtDeadline(service: Awaited<ReturnType<typeof busyService>>['service']) {
  service.signal('SIGTERM')
  await service.said('"message":"shutting down')
  // As a supervisor may do that wants a configuration reloaded, and does not know better.
  service.signal('SIGHUP')
  const { code, stderr } = await service.ended
  expect(code).toBe(0)
  return logOf(stderr)
}

test('in memory, handlers that do not end are interrupted at the deadline, and logged', async () => {
  const { api, service, ids } = await busyService({ drainMs: DRAIN_MS })
  const log = await stopAtDeadline(service)
  const cutOff = log.filter(({ message }) => message === 'interrupted: its handler ran beyond the deadline')
  const givenUp = log.filter(({ message }) => message === 'lost: it was waiting in memory')
  expect(new Set(cutOff.map(({ id }) => id))).toEqual(new Set(api.ids))
  expect(new Set([...cutOff, ...givenUp].map(({ id }) => id))).toEqual(new Set(ids))
})

test('on Redis, handlers that do not end are interrupted at the deadline, and their jobs return with their attempt', async () => {
  const redis = await startRedis()
  const { service } = await busyService({ drainMs: DRAIN_MS, redis: redis.url })
  await stopAtDeadline(service)
  await using shaper = new Shaper('main', { limits: { '*': '2000, 500/s' }, connection: redis.url })
  const { admitted, running, ended } = await shaper.audit()
  expect({ admitted, running, ended }).toEqual({ admitted: RUNNING + WAITING, running: 0, ended: 0 })
})

test('SIGTERM while Redis is away: it is over soon after the deadline all the same', async () => {
  const redis = await startRedis()
  const { api, service } = await busyService({ drainMs: DRAIN_MS, redis: redis.url })
  redis.pause()
  api.answerAll()
  const log = await stopAtDeadline(service)
  expect(log).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining('Redis did not reply in time') }),
  )
  redis.resume()
})

test.each(['memory', 'redis'])(
  'SIGTERM while producers keep asking: every admitted job is accounted for: %s',
  async (backend) => {
    const redis = backend === 'redis' ? await startRedis() : undefined
    const service = await serve({ ...(redis && { redis: redis.url }), limits: { '*': '1000000, 1/s' } })
    const accepted: string[] = []
    let isOver = false
    const producers = Array.from({ length: 12 }, async (_, producer) => {
      for (let number = 0; !isOver; number++) {
        const id = `p${producer}-${number}`
        const answer = await post(`${service.url}/v1/buckets/k${producer}/jobs`, { id, data: {} }).catch(
          () => undefined,
        )
        if (answer?.status === 202) accepted.push(id)
        else if (answer !== undefined) expect(answer.status).toBe(503)
      }
    })
    await eventually(() => expect(accepted.length).toBeGreaterThan(300))
    service.signal('SIGTERM')
    const { code, stderr } = await service.ended
    isOver = true
    await Promise.all(producers)
    expect(code).toBe(0)
    if (redis === undefined) {
      const named = new Set(logOf(stderr).map(({ id }) => id))
      expect(accepted.filter((id) => !named.has(id))).toEqual([])
    } else {
      await using shaper = new Shaper('main', { limits: { '*': '1000000, 1/s' }, connection: redis.url })
      const jobs = await Promise.all(accepted.map((id) => shaper.job(id)))
      expect(jobs.filter((job) => job === undefined)).toEqual([])
    }
  },
)

test('a second signal ends it immediately', async () => {
  const { service } = await busyService({})
  service.signal('SIGTERM')
  await service.said('"message":"shutting down')
  service.signal('SIGTERM')
  expect((await service.ended).code).toBe(143)
})

test('--drain waits for jobs that wait in memory', async () => {
  const done: string[] = []
  const server = createServer((request, response) => {
    done.push(String(request.headers['idempotency-key']).replace(/^.*:/, ''))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const forward = { allow: [url], allowPrivate: ['127.0.0.1'] }
  const service = await serve({ limits: { '*': '100, 20/s' }, forward }, ['--drain'])
  const jobs = Array.from({ length: 30 }, (_, index) => ({
    key: 'a',
    id: `j${index}`,
    data: { method: 'GET', url },
  }))
  expect((await post(`${service.url}/v1/jobs`, { jobs })).status).toBe(202)
  service.signal('SIGTERM')
  await service.said('"message":"shutting down')
  await expectDraining(service.url)
  expect((await service.ended).code).toBe(0)
  expect(done).toEqual(jobs.map(({ id }) => id))
})

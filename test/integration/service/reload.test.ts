import { createHash } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { launch } from '../../support/launch.ts'
import { eventually } from '../../support/patience.ts'
import { startRedis } from '../../support/redis-server.ts'
import { ThirdParty } from '../../support/third-party.ts'
import { configFile, forwardingWorker, logOf, post, serve } from './running.ts'

const WAITING = 40

/** As an editor does it. */
function save(file: string, text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

async function generousApi(): Promise<ThirdParty> {
  const api = await ThirdParty.start({ perSecond: 1e6, burst: 1e6 })
  onTestFinished(() => api.stop())
  return api
}

/** Milliseconds since the epoch, by the clock of the line. */
async function departureOf(url: string, id: string): Promise<number> {
  const job = (await (await fetch(`${url}/v1/jobs/${id}`)).json()) as { readonly departedAt: number }
  return job.departedAt
}

test.each(['memory', 'redis'])(
  'a limit that changes in the file reaches waiting jobs, which depart in their order and at the new rate: %s',
  async (backend) => {
    const redis = backend === 'redis' ? await startRedis() : undefined
    const api = await generousApi()
    const settings = (limit: string) => ({
      listen: '127.0.0.1:0',
      ...(redis && { redis: redis.url }),
      limits: { '*': limit },
      forward: { allow: [api.url], allowPrivate: ['127.0.0.1'] },
    })
    const service = await serve(settings('100, 1 per 10 minutes'))
    if (redis) await forwardingWorker(service.file)
    const jobs = Array.from({ length: WAITING }, (_, index) => ({
      key: 'acme',
      id: `j${index}`,
      data: { method: 'POST', url: `${api.url}/acme` },
    }))
    expect((await post(`${service.url}/v1/jobs`, { jobs })).status).toBe(202)
    await api.when(() => api.calls.length === 1)

    save(service.file, stringify(settings('100, 20/s')))
    await api.when(() => api.calls.length === WAITING)
    expect(new Set(api.calls.map(({ jobId }) => jobId)).size).toBe(WAITING)
    // On the wire one may overtake another.
    const departures = await Promise.all(jobs.map(({ id }) => departureOf(service.url, id)))
    const gaps = departures.slice(1).map((at, index) => at - departures[index]!)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(50 - 5 - 0.001)
  },
)

test('a file with a fault changes nothing, and the log names its place; the next good one is taken', async () => {
  const service = await serve({ limits: { '*': '5, 1/s' } })
  const limits = async () => (await fetch(`${service.url}/v1/limits`)).json()
  const before = await limits()
  save(service.file, "limits:\n  '*': 5, quickly\n")
  const [, error] = await service.saidLike(/"message":"(configuration not changed[^"]*)"/)
  expect(error).toBeDefined()
  await service.saidLike(/velvet-rope\.yaml:2:8/)
  expect(await limits()).toEqual(before)
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200)

  save(service.file, "listen: 127.0.0.1:0\nlimits:\n  '*': 7, 1/s\n")
  await service.said('"message":"configuration changed"')
  await eventually(async () => expect(JSON.stringify(await limits())).toContain('7, 1/s'))
  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  expect(metrics).toContain('velvet_rope_config_reloads_total{outcome="failure"} 1')
  expect(metrics).toContain('velvet_rope_config_reloads_total{outcome="success"} 1')
})

test('SIGHUP reads the file again, and a token that was removed gives no access any more', async () => {
  const token = (name: string) => ({
    name,
    sha256: createHash('sha256').update(`${name}-secret`).digest('hex'),
    scopes: ['enqueue', 'read'],
  })
  const settings = (names: string[]) =>
    stringify({ listen: '127.0.0.1:0', limits: { '*': '5, 1/s' }, tokens: names.map(token) })
  const service = await serve({ limits: { '*': '5, 1/s' }, tokens: ['old', 'new'].map(token) })
  const ask = async (name: string) => {
    const headers = { authorization: `Bearer ${name}-secret` }
    return (await fetch(`${service.url}/v1/buckets/a`, { headers })).status
  }
  expect([await ask('old'), await ask('new'), await ask('none')]).toEqual([404, 404, 401])
  save(service.file, settings(['new']))
  service.signal('SIGHUP')
  await service.said('"message":"configuration changed"')
  expect([await ask('old'), await ask('new')]).toEqual([401, 404])
  service.signal('SIGTERM')
  const { stderr } = await service.ended
  expect(stderr).not.toContain('secret')
  expect(logOf(stderr).filter(({ level }) => level === 'error')).toEqual([])
})

test('what jobs may call changes while they run', async () => {
  const [one, other] = [await generousApi(), await generousApi()]
  const settings = (api: ThirdParty) => ({
    listen: '127.0.0.1:0',
    limits: { '*': '50, 100/s' },
    forward: { allow: [api.url], allowPrivate: ['127.0.0.1'] },
  })
  const service = await serve(settings(one))
  const call = async (api: ThirdParty, id: string) => {
    const data = { method: 'GET', url: `${api.url}/a` }
    return (await post(`${service.url}/v1/buckets/a/jobs`, { id, data })).status
  }
  const completes = (id: string) =>
    eventually(async () => {
      const job = (await (await fetch(`${service.url}/v1/jobs/${id}`)).json()) as { state: string }
      expect(job.state).toBe('completed')
    })
  expect([await call(one, 'a1'), await call(other, 'b1')]).toEqual([202, 422])
  await completes('a1')
  save(service.file, stringify(settings(other)))
  await service.said('"message":"configuration changed"')
  expect([await call(one, 'a2'), await call(other, 'b2')]).toEqual([422, 202])
  await completes('b2')
})

test('a worker that knows no limits, or only a flag of its own, leaves those of the service in force', async () => {
  const redis = await startRedis()
  const service = await serve({ redis: redis.url, limits: { '*': '10, 1/s', shop: '20, 2/s' } })
  const limits = async () => {
    const { limits } = (await (await fetch(`${service.url}/v1/limits`)).json()) as {
      limits: { pattern: string; limit: string; origin: string }[]
    }
    return limits.map(({ pattern, limit, origin }) => `${pattern}: ${limit} (${origin})`).sort()
  }
  const before = await limits()
  expect(before).toEqual(['*: 10, 1/s (file)', 'shop: 20, 2/s (file)'])
  const forward = { allow: ['https://api.example.com'] }
  await forwardingWorker({ redis: redis.url, forward })
  const flagged = launch([
    'work',
    '--forward',
    '--config',
    configFile({ redis: redis.url, forward }),
    '--limit',
    '1, 1/s',
  ])
  await flagged.said('"message":"working"')
  expect((await post(`${service.url}/v1/buckets/shop/jobs`, { data: {} })).status).toBe(202)
  expect(await limits()).toEqual(before)
  service.signal('SIGTERM')
  await service.ended
  const again = await serve({ redis: redis.url, limits: { '*': '10, 1/s', shop: '20, 2/s' } })
  expect((await post(`${again.url}/v1/buckets/shop/jobs`, { data: {} })).status).toBe(202)
})

test('a service that is rolled back sets its limits again, and reports whose it replaced; the other can at SIGHUP', async () => {
  const redis = await startRedis()
  const [old, fresh] = [{ '*': '10, 1/s' }, { '*': '20, 2/s' }]
  const first = await serve({ redis: redis.url, limits: old })
  first.signal('SIGTERM')
  await first.ended
  const newer = await serve({ redis: redis.url, limits: fresh })
  const service = await serve({ redis: redis.url, limits: old })
  await service.said('"limits":["*: 20, 2/s -> 10, 1/s"]')
  const inForce = async () => JSON.stringify(await (await fetch(`${service.url}/v1/limits`)).json())
  expect(await inForce()).toContain('10, 1/s')
  await newer.said('newer limits are in force than those of this configuration')
  newer.signal('SIGHUP')
  await newer.said('"message":"limits in force"')
  await expect.poll(inForce).toContain('20, 2/s')
})

import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { launch } from '../../support/launch.ts'
import { eventually } from '../../support/patience.ts'
import { redisAddress, uniquePrefix } from '../../support/redis-server.ts'
import { ThirdParty } from '../../support/third-party.ts'
import { logOf, post, serve } from './running.ts'

const LIMIT = '5, 1 per 10 minutes, 100 tokens/hour 1 each'
const KEYS = ['acme', 'a,"b" c', 'x/y']
const LATER = 20

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'velvet-rope-record-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

async function generousApi(): Promise<ThirdParty> {
  const api = await ThirdParty.start({ perSecond: 1e6, burst: 1e6 })
  onTestFinished(() => api.stop())
  return api
}

test.each(['memory', 'redis'])(
  'what a service recorded is accepted and refused by simulate as it was by the service: %s',
  async (backend) => {
    const file = join(folder(), 'arrivals.csv')
    const api = await generousApi()
    const service = await serve(
      {
        limits: { '*': LIMIT },
        forward: { allow: [api.url], allowPrivate: ['127.0.0.1'] },
        ...(backend === 'redis' && { redis: redisAddress(), prefix: uniquePrefix() }),
      },
      ['--record', file, ...(backend === 'redis' ? ['--work'] : [])],
    )
    const ask = async (key: string, costs = {}) => {
      const data = { method: 'POST', url: `${api.url}/call` }
      const { status } = await post(`${service.url}/v1/buckets/${encodeURIComponent(key)}/jobs`, {
        data,
        costs,
      })
      return status
    }
    // The first of each departs immediately, as in a simulation; where the line is elsewhere that takes a moment.
    for (const key of KEYS) expect(await ask(key)).toBe(202)
    await api.when(() => api.calls.length === KEYS.length)
    const statuses = await Promise.all(KEYS.flatMap((key) => Array.from({ length: LATER }, () => ask(key))))
    const accepted = KEYS.length + statuses.filter((status) => status === 202).length
    const rejected = statuses.filter((status) => status === 429).length
    expect([accepted, rejected]).toEqual([KEYS.length * 6, KEYS.length * (LATER - 5)])
    // Only what they name tells these from others.
    for (const key of KEYS) expect(await ask(key, { tokens: 101, images: 3 })).toBe(422)
    service.signal('SIGTERM')
    expect((await service.ended).code).toBe(0)

    expect(statSync(file).mode & 0o777).toBe(0o600)
    const simulated = await launch(['simulate', file, '--limit', LIMIT, '--json']).ended
    const ignored = '"images" in the arrivals is no unit of a limit, and is ignored: units are tokens\n'
    expect(simulated).toMatchObject({ code: 0, stderr: ignored })
    expect(JSON.parse(simulated.stdout)).toMatchObject({
      arrivals: KEYS.length * (LATER + 2),
      accepted,
      rejected: rejected + KEYS.length,
      rejections: { full: rejected, 'too-costly': KEYS.length },
      keys: KEYS.length,
    })
  },
)

test('a file that is moved away is followed by a new one, at SIGHUP at the latest; the next start goes on in it', async () => {
  const file = join(folder(), 'arrivals.csv')
  const keysIn = (name: string) =>
    readFileSync(name, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(',')[1])
  const config = { limits: { '*': LIMIT }, record: file }
  const service = await serve(config)
  const enqueue = (url: string, key: string) => post(`${url}/v1/buckets/${key}/jobs`, { data: {} })
  await enqueue(service.url, 'one')
  await eventually(() => expect(keysIn(file)).toEqual(['key', 'one']))
  renameSync(file, `${file}.1`)
  await enqueue(service.url, 'two')
  service.signal('SIGHUP')
  await eventually(() => expect(keysIn(file)).toEqual(['key', 'two']))
  expect(keysIn(`${file}.1`)).toEqual(['key', 'one'])
  service.signal('SIGTERM')
  await service.ended

  const again = await serve({ limits: { '*': LIMIT } }, [], { VELVET_ROPE_RECORD: file })
  await enqueue(again.url, 'three')
  again.signal('SIGTERM')
  await again.ended
  expect(keysIn(file)).toEqual(['key', 'two', 'three'])
})

test('a folder that goes away stops no service; one that was never there stops its start', async () => {
  const path = join(folder(), 'logs')
  const missing = await launch([
    'serve',
    '--limit',
    LIMIT,
    '--listen',
    '127.0.0.1:0',
    '--record',
    join(path, 'a.csv'),
  ]).ended
  expect(missing.code).toBe(2)
  expect(missing.stderr).toContain('record: expected a file that can be written, got: ')

  mkdirSync(path)
  const service = await serve({ limits: { '*': LIMIT }, record: join(path, 'arrivals.csv') })
  rmSync(path, { recursive: true })
  const { status } = await post(`${service.url}/v1/buckets/k/jobs`, { data: {} })
  expect(status).toBe(202)
  await service.said('arrivals cannot be recorded; retrying')
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
  service.signal('SIGTERM')
  const { code, stderr } = await service.ended
  expect(code).toBe(0)
  expect(
    logOf(stderr).find(({ message }) => message === 'arrivals at the end were not recorded'),
  ).toMatchObject({
    lines: 1,
  })
})

import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../../src/index.ts'
import { launch } from '../../support/launch.ts'
import { eventually } from '../../support/patience.ts'
import { startRedis } from '../../support/redis-server.ts'
import { ThirdParty } from '../../support/third-party.ts'
import { configFile } from './running.ts'

test('a worker serves its own state where it is configured to, and nothing else', async () => {
  const redis = await startRedis()
  const api = await ThirdParty.start({ perSecond: 1_000, burst: 1_000 })
  onTestFinished(() => api.stop())
  const file = configFile({
    // Of the API, which is another process.
    listen: '127.0.0.1:1',
    redis: redis.url,
    limits: { '*': '5, 10/s' },
    forward: { allow: [api.url], allowPrivate: ['127.0.0.1'] },
  })
  const quiet = launch(['work', '--forward', '--config', file])
  await quiet.said('"message":"working"')
  const worker = launch(['work', '--forward', '--config', file, '--listen', '127.0.0.1:0'])
  const [, url] = await worker.saidLike(/"url":"(http:[^"]+)".*"message":"working"/)
  quiet.signal('SIGTERM')
  const { stderr } = await quiet.ended
  expect(stderr).not.toContain('"url"')

  await using shaper = new Shaper('main', { limits: { '*': '5, 10/s' }, connection: redis.url })
  await shaper.enqueue('acme', { method: 'GET', url: `${api.url}/acme` })
  await api.when(() => api.calls.length === 1)
  const get = async (path: string) => {
    const response = await fetch(`${url}${path}`)
    return { status: response.status, text: await response.text() }
  }
  expect(await get('/readyz')).toMatchObject({ status: 200 })
  expect(await get('/healthz')).toMatchObject({ status: 200 })
  await eventually(async () => {
    const { text } = await get('/metrics')
    expect(text).toContain('velvet_rope_departures_total{pattern="*"} 1')
    expect(text).toContain('velvet_rope_forward_responses_total{status_class="2xx"} 1')
  })
  for (const path of ['/v1/buckets', '/v1/limits', '/v1/events', '/v1/jobs/a']) {
    expect((await get(path)).status, path).toBe(404)
  }
  expect(JSON.parse((await get('/')).text).links).not.toHaveProperty('buckets')
})

import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { RedisProcess } from '../support/redis-server.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const JOBS = 60
const INTERVAL_MS = 50
const TOLERANCE_MS = 5

test('starts keep their distance where one worker is slow to reach Redis and another slow to be reached', async () => {
  const redis = await RedisProcess.start({ port: 'free' })
  const networks = [await TcpProxy.start(redis.port!), await TcpProxy.start(redis.port!)]
  networks[0]!.weather = { thereMs: 30 }
  networks[1]!.weather = { backMs: 30 }
  const starts: (readonly [worker: number, ms: number])[] = []
  const shapers = networks.map(({ url }, worker) => {
    const shaper = new Shaper('far', { limits: { '*': '100, 20/s' }, connection: url })
    shaper.on('error', () => undefined)
    shaper.work(() => {
      starts.push([worker, performance.now()])
    })
    return shaper
  })
  onTestFinished(async () => {
    await Promise.all(shapers.map((shaper) => shaper.close({ drainMs: 0 })))
    for (const network of networks) await network[Symbol.asyncDispose]()
    await redis.stop()
  })
  for (let index = 0; index < JOBS; index++) await shapers[index % 2]!.enqueue('k', index)
  await expect.poll(() => starts.length).toBe(JOBS)
  expect(new Set(starts.map(([worker]) => worker)).size).toBe(2)
  const gaps = starts.slice(1).map(([, ms], index) => ms - starts[index]![1])
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(INTERVAL_MS - TOLERANCE_MS)
})

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { Chance } from '../support/campaign/chance.ts'
import { RedisProcess } from '../support/redis-server.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const JOBS = 20

/** A worker and a scheduler, each behind a network of its own. */
async function behindNetworks(takesMs: (index: number) => number) {
  const redis = await RedisProcess.start({ port: 'free' })
  const ofWorker = await TcpProxy.start(redis.port!)
  const ofScheduler = await TcpProxy.start(redis.port!)
  const starts: string[] = []
  const ended: string[] = []
  const [worker, scheduler] = [ofWorker, ofScheduler].map(({ url }) => {
    const shaper = new Shaper('cut', { limits: { '*': '100, 100/s' }, connection: url })
    shaper.on('error', () => undefined)
    return shaper
  })
  for (const outcome of ['completed', 'failed'] as const) {
    worker!.on(outcome, ({ id }) => void ended.push(`${id} ${outcome}`))
  }
  const handler = async ({ id, data }: { readonly id: string; readonly data: unknown }) => {
    starts.push(id)
    await sleep(takesMs(Number(data)))
  }
  worker!.work(handler, { scheduler: false })
  scheduler!.schedule()
  onTestFinished(async () => {
    await Promise.all([worker, scheduler].map((shaper) => shaper!.close({ drainMs: 0 })))
    for (const network of [ofWorker, ofScheduler]) await network[Symbol.asyncDispose]()
    await redis.stop()
  })
  const ids = Array.from({ length: JOBS }, (_, index) => `j${index}`)
  for (const [index, id] of ids.entries()) await scheduler!.enqueue(`k${index % 4}`, index, { id })
  await expect.poll(() => starts.length).toBe(JOBS)
  return { ofWorker, ofScheduler, starts, ended, ids }
}

test('no job starts twice where the network to Redis swallows every packet for longer than what is left of the leases', async () => {
  // Some handlers end during the outage, the others after it.
  const { ofWorker, ofScheduler, starts, ended, ids } = await behindNetworks((index) => 4_000 + index * 1_000)
  const chance = new Chance()
  // Leases are renewed each third of their ten seconds: just before that, what is left of them is the least.
  await sleep(chance.between(0, 3_300))
  for (const network of [ofWorker, ofScheduler]) network.weather = { isBlackHole: true }
  await sleep(chance.between(7_000, 10_000))
  // The worker finds Redis again after the scheduler, which looks for lost jobs immediately, or before it.
  const networks = [ofScheduler, ofWorker]
  const first = chance.pick(networks)
  first.mend()
  await sleep(chance.between(0, 1_200))
  for (const network of networks) if (network !== first) network.mend()
  await expect.poll(() => ended.length).toBeGreaterThanOrEqual(JOBS)
  expect([...starts].sort()).toEqual([...ids].sort())
  expect([...ended].sort()).toEqual(ids.map((id) => `${id} completed`).sort())
})

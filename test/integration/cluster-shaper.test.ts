import { Cluster } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { startCluster, uniquePrefix } from '../support/redis-server.ts'

const KEYS = Array.from({ length: 12 }, (_, n) => `customer${n}/sms`)
const EACH = 8
/** One for each key and round of the producers. */
const TOTAL = KEYS.length * EACH
const INTERVAL_MS = 50
const TOLERANCE_MS = 5

test('a shaper over six shards of a cluster: producers and a worker, order and gaps of every key', async () => {
  await using cluster = await startCluster()
  const client = new Cluster([...cluster.nodes])
  onTestFinished(() => client.disconnect())
  const prefix = uniquePrefix()
  const open = () => new Shaper('sms', { limits: { '*': '20, 20/s' }, connection: client, prefix, shards: 6 })
  const [consumer, ...producers] = [open(), open(), open()]
  const errors: Error[] = []
  for (const shaper of [consumer!, ...producers]) {
    shaper.on('error', (error) => void errors.push(error))
    await shaper.ready()
  }
  const starts = new Map<string, { readonly n: unknown; readonly at: number }[]>(KEYS.map((key) => [key, []]))
  const ended = new Promise<void>((resolve) => {
    let left = TOTAL
    consumer!.on('completed', () => {
      if (--left === 0) resolve()
    })
  })
  consumer!.work(({ key, data, departedAt }) => void starts.get(key)!.push({ n: data, at: departedAt }))

  for (let n = 0; n < EACH; n++) {
    const producer = producers[n % producers.length]!
    const verdicts = await producer.enqueueMany(KEYS.map((key) => ({ key, data: n })))
    for (const verdict of verdicts) expect(verdict).toMatchObject({ accepted: true })
  }
  await ended
  for (const key of KEYS) {
    const own = starts.get(key)!
    expect(own.map(({ n }) => n)).toEqual(Array.from({ length: EACH }, (_, n) => n))
    for (const [index, { at }] of own.slice(1).entries()) {
      expect(at - own[index]!.at).toBeGreaterThanOrEqual(INTERVAL_MS - TOLERANCE_MS - 0.001)
    }
  }
  const none = { waiting: 0, handed: 0, running: 0, retrying: 0 }
  expect(await producers[0]!.audit()).toEqual({ ...none, admitted: TOTAL, ended: TOTAL })
  const sizes = await Promise.all(client.nodes('master').map((node) => node.dbsize()))
  expect(Math.min(...sizes)).toBeGreaterThan(0)
  await Promise.all([consumer!, ...producers].map((shaper) => shaper.close()))
  expect(errors).toEqual([])
})

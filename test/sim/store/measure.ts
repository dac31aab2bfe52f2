import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { Queue, Worker } from 'bullmq'
import { parseLayer } from '../../../src/core/layered-book.ts'
import { Connection } from '../../../src/redis/connection/connection.ts'
import { parseConnection } from '../../../src/redis/connection/connection-input.ts'
import { RedisBackend } from '../../../src/redis/redis-backend.ts'
import { RespReader } from './resp-reader.ts'
import { SimRedis } from './sim-redis.ts'
import { bridge, REAL_HOST } from './tcp-bridge.ts'

/** How long a script call takes in the store, its bytes read and its answer written: `npx tsx test/sim/store/measure.ts`. */

const JOBS = 2_000
const SECOND = 1_000_000
const times = new Map<string, number[]>()
const names = new Map<string, string>()
let label = ''

/** A store that notes how long each command takes. */
class Measured extends SimRedis {
  override connect() {
    const connection = super.connect()
    const reader = new RespReader()
    const receive = (bytes: Buffer) => {
      reader.push(bytes)
      const words: string[][] = []
      for (let next = reader.next(); next !== undefined; next = reader.next()) words.push(next)
      const start = performance.now()
      connection.receive(bytes)
      const took = (performance.now() - start) * 1_000
      if (words.length !== 1 || !/^eval/i.test(words[0]![0]!)) return
      const name = label === '' ? names.get(words[0]![1]!) : label
      if (name === undefined) return
      const list = times.get(name) ?? []
      times.set(name, list)
      list.push(took)
    }
    return { ...connection, receive }
  }
}

async function verbs(path: string): Promise<void> {
  const connection = new Connection(parseConnection(path), () => undefined)
  await connection.ready()
  const rules = parseLayer({ '*': '5000, 1000/s' })
  const backend = new RedisBackend({
    name: 'm',
    prefix: 'm',
    shards: 1,
    connection,
    rules,
    retention: { jobs: 100, time: 0, most: 1_000 },
  })
  await backend.open(SECOND)
  const { verbs } = backend
  let now = 2 * SECOND
  const settings = {
    attempts: 5,
    backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 },
    timeoutMs: 1_000,
  } as const
  for (let number = 0; number < JOBS; number++) {
    now += 2_000
    label = 'admit'
    const deadline = Number.POSITIVE_INFINITY
    await verbs.admit(
      {
        id: `j${number}`,
        key: `k${number % 10}`,
        data: '{"a":1}',
        cost: 1,
        settings,
        deadline,
        traceparent: '',
      },
      now,
    )
    label = 'claim'
    const { jobs } = await verbs.claim(
      0,
      { scheduler: 's', lookAhead: 0, most: 200, lease: 60 * SECOND },
      now,
    )
    for (const job of jobs) {
      label = 'gate'
      await verbs.gate(0, [{ ...job, worker: 'w', lead: 0, error: 0, lease: 60 * SECOND }], now)
      label = 'start'
      await verbs.start(0, [{ ...job, startedAt: now }], now)
      label = 'finish'
      await verbs.finish(0, [{ ...job, outcome: { kind: 'completed', result: undefined } }], now)
    }
  }
  label = ''
  await connection.close()
}

async function bullmq(path: string): Promise<void> {
  const require = createRequire(import.meta.url)
  const scripts: Record<string, { content: string; name: string }> = require(
    require.resolve('bullmq').replace(/index\.js$/, 'scripts/index.js'),
  )
  for (const { content, name } of Object.values(scripts)) {
    names.set(createHash('sha1').update(content).digest('hex'), `BullMQ ${name}`)
  }
  const connection = { path, maxRetriesPerRequest: null }
  const queue = new Queue('q', { connection })
  let done = 0
  const worker = new Worker('q', async () => void done++, { connection, concurrency: 1 })
  for (let number = 0; number < JOBS; number++) await queue.add('x', { number })
  while (done < JOBS) await new Promise((resolve) => setTimeout(resolve, 10))
  await worker.close()
  await queue.close()
}

const { path, close } = await bridge(new Measured(REAL_HOST))
await verbs(path)
await bullmq(path)
await close()
console.log('microseconds per call            calls    first     p50    mean of the last half     p99')
for (const [name, list] of times) {
  if (list.length < 100) continue
  const late = list.slice(list.length / 2)
  const sorted = [...late].sort((one, other) => one - other)
  const mean = late.reduce((sum, took) => sum + took, 0) / late.length
  const figures = [list[0]!, sorted[sorted.length >> 1]!, mean, sorted[Math.floor(sorted.length * 0.99)]!]
  console.log(
    `${name.padEnd(30)} ${`${list.length}`.padStart(7)} ${figures.map((figure) => figure.toFixed(1).padStart(9)).join('')}`,
  )
}

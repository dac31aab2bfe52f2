import { subscribe } from 'node:diagnostics_channel'
import { resolve } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Handoff } from '../../src/core/diagnostics.ts'
import type { Shaper as ShaperOf } from '../../src/index.ts'
import { quantile } from '../statistics.ts'
import { startRedis } from './server.ts'

/**
 * What one tenant experiences on a shared line beside another whose handlers do not end: `tsx bench/redis/stuck-tenant.ts`. The
 * workers are that of `--checkout`, all in this process, so that one clock reads when a job was enqueued and when it started.
 */
const { values: flags } = parseArgs({
  options: {
    checkout: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
    keys: { type: 'string', default: '100,1000' },
    workers: { type: 'string', default: '1,2,4' },
    concurrency: { type: 'string', default: '4' },
    quick: { type: 'string', default: '100' },
    /** Of so many keys. */
    'quick-keys': { type: 'string', default: '1' },
    rounds: { type: 'string', default: '1' },
    /** How long the handlers of the many tenants take. */
    'handler-ms': { type: 'string', default: '20' },
    tenants: { type: 'string', default: '50' },
    jobs: { type: 'string', default: '4000' },
    only: { type: 'string', default: 'stuck,many' },
  },
})
const numbers = (text: string) => text.split(',').map(Number)
const concurrency = Number(flags.concurrency)
const { Shaper } = (await import(`${resolve(flags.checkout)}/src/index.ts`)) as { Shaper: typeof ShaperOf }

let handed = 0
subscribe('velvet-rope:handoff', (message) => {
  handed += (message as Handoff).jobs
})

type Handler = (job: { key: string; id: string }) => Promise<void> | void

/** One that enqueues, and so many that work. */
async function withShapers<Value>(
  workers: number,
  handler: Handler,
  act: (producer: ShaperOf<number, void>) => Promise<Value>,
): Promise<Value> {
  const redis = await startRedis()
  const open = () => {
    const limits = { '*': '100000, 1000/s', slow: '9, 100/s' }
    const shaper = new Shaper<number, void>('bench', { limits, connection: `unix://${redis.address}` })
    return shaper.on('error', (error) => console.error(error.message))
  }
  const producer = open()
  const shapers = Array.from({ length: workers }, open)
  try {
    await producer.ready()
    for (const shaper of shapers) {
      shaper.work(handler, { concurrency })
      await shaper.ready()
    }
    await pass(500)
    return await act(producer)
  } finally {
    await Promise.all([...shapers, producer].map((shaper) => shaper.close({ drainMs: 0 })))
    await redis.stop()
  }
}

const PAUSE_MS = 100
const LONGEST_WAIT_MS = 20_000

async function stuck(keys: number, workers: number): Promise<string> {
  let release: () => void = () => undefined
  const released = new Promise<void>((done) => {
    release = done
  })
  const starts = new Map<string, number>()
  let running = 0
  let ended = 0
  let all: () => void = () => undefined
  const handler: Handler = async ({ key, id }) => {
    starts.set(id, performance.now())
    if (!key.startsWith('slow/')) return
    running++
    await released
    if (++ended === keys) all()
  }
  return withShapers(workers, handler, async (producer) => {
    // One worker of all knows the other tenant.
    await producer.enqueue('quick', 1, { id: 'first' })
    await pass(500)
    const slow = Array.from({ length: keys }, (_, n) => ({ key: `slow/${n}`, data: n }))
    for (let from = 0; from < keys; from += 200) await producer.enqueueMany(slow.slice(from, from + 200))
    await pass(2_000)
    const sent: [id: string, at: number][] = []
    const count = Number(flags.quick)
    const handedBefore = handed
    const startsBefore = starts.size
    for (let n = 0; n < count; n++) {
      sent.push([`q${n}`, performance.now()])
      void producer.enqueue(`quick/${n % Number(flags['quick-keys'])}`, 1, { id: `q${n}` })
      await pass(PAUSE_MS)
    }
    const given = (handed - handedBefore - (starts.size - startsBefore)) / ((count * PAUSE_MS) / 1_000)
    const until = performance.now() + LONGEST_WAIT_MS
    while (sent.some(([id]) => !starts.has(id)) && performance.now() < until) await pass(50)
    const waits = sent.map(([id, at]) => (starts.get(id) ?? Number.POSITIVE_INFINITY) - at)
    const taken = running
    const drained = new Promise<void>((done) => {
      all = done
    })
    const releasedAt = performance.now()
    release()
    await drained
    const drain = (performance.now() - releasedAt) / 1_000
    const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(waits, share).toFixed(0))
    return (
      `${keys} stuck keys, ${flags['quick-keys']} quick, ${workers} x ${concurrency}: p50 ${p50} ms, p99 ${p99} ms, max ${max} ms; ` +
      `${taken} handlers stuck; given back ${given.toFixed(0)}/s; all ${keys} started ${drain.toFixed(1)} s after the release`
    )
  })
}

/** Jobs a second of many tenants whose handlers are short, from the enqueueing of a backlog to the last end. */
async function many(workers: number): Promise<string> {
  const jobs = Number(flags.jobs)
  let ended = 0
  let all: () => void = () => undefined
  const done = new Promise<void>((resolve) => {
    all = resolve
  })
  const handler: Handler = async () => {
    await pass(Number(flags['handler-ms']))
    if (++ended === jobs) all()
  }
  return withShapers(workers, handler, async (producer) => {
    const backlog = Array.from({ length: jobs }, (_, n) => ({
      key: `t${n % Number(flags.tenants)}`,
      data: n,
    }))
    const startedAt = performance.now()
    const handedBefore = handed
    for (let from = 0; from < jobs; from += 200) await producer.enqueueMany(backlog.slice(from, from + 200))
    await done
    const seconds = (performance.now() - startedAt) / 1_000
    const given = (handed - handedBefore - jobs) / jobs
    return (
      `${flags.tenants} tenants, handlers of ${flags['handler-ms']} ms, ${workers} x ${concurrency}: ` +
      `${(jobs / seconds).toFixed(1)} jobs/s; each given back ${given.toFixed(2)} times`
    )
  })
}

for (let round = 0; round < Number(flags.rounds); round++) {
  for (const workers of numbers(flags.workers)) {
    if (flags.only.includes('stuck'))
      for (const keys of numbers(flags.keys)) console.log(await stuck(keys, workers))
    if (flags.only.includes('many')) console.log(await many(workers))
  }
}
process.exit()

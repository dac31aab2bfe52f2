import { Queue, type RateLimiterOptions, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { type Pace, type Payload, perKey } from '../product.ts'
import type { Handed, Producer, RedisProduct, Setup } from './product.ts'

/** As many handlers at once as ours. */
const CONCURRENCY = 100
/** Of finished jobs the last thousand are kept, as ours are. */
const KEEP = { removeOnComplete: 1_000, removeOnFail: 1_000 }
const ALL = 'all'

interface Job {
  readonly key: string
  readonly data: Payload
}

/** The only way in BullMQ to a limit of its own for each key. */
export const bullmqPerKey: RedisProduct = {
  name: 'BullMQ',
  setting: (pace) => `a queue per key, limiter max ${pace.count}, duration ${pace.periodMs}`,
  produce: (setup) => produce(setup, (key) => key),
  work: (setup, start) => work(setup, setup.keys, start, limiterOf(setup.pace)),
}

/** One limit for all keys together. */
export const bullmqLimited: RedisProduct = {
  name: 'BullMQ, one queue',
  setting: (pace) => `one limit for all: max ${pace.count}, duration ${pace.periodMs}`,
  produce: (setup) => produce(setup, () => ALL),
  work: (setup, start) => work(setup, [ALL], start, limiterOf(setup.pace)),
}

/** No shaping at all: what a job costs to carry. */
export const bullmqUnshaped: RedisProduct = {
  name: 'BullMQ, unshaped',
  setting: () => 'one queue, no limiter',
  produce: (setup) => produce(setup, () => ALL),
  work: (setup, start) => work(setup, [ALL], start, undefined),
}

async function produce(setup: Setup, nameOf: (key: string) => string): Promise<Producer> {
  const connection = connect(setup)
  const queues = perKey((name) => new Queue<Job>(name, { connection, defaultJobOptions: KEEP }))
  return {
    enqueue: (key, data) => queues(nameOf(key)).add('job', { key, data }),
    async enqueueMany(jobs) {
      const batches = new Map<string, Handed[]>()
      for (const job of jobs) {
        const batch = batches.get(nameOf(job[0]))
        if (batch === undefined) batches.set(nameOf(job[0]), [job])
        else batch.push(job)
      }
      await Promise.all(
        [...batches].map(([name, batch]) =>
          queues(name).addBulk(batch.map(([key, data]) => ({ name: 'job', data: { key, data } }))),
        ),
      )
    },
  }
}

async function work(
  setup: Setup,
  names: readonly string[],
  start: (key: string, data: Payload) => void,
  limiter: RateLimiterOptions | undefined,
): Promise<void> {
  const connection = connect(setup)
  const workers = names.map(
    (name) =>
      new Worker<Job>(name, async ({ data }) => start(data.key, data.data), {
        connection,
        concurrency: CONCURRENCY,
        ...(limiter !== undefined && { limiter }),
      }),
  )
  await Promise.all(workers.map((worker) => worker.waitUntilReady()))
}

function limiterOf({ count, periodMs }: Pace): RateLimiterOptions {
  return { max: count, duration: periodMs }
}

/** A worker adds a second connection by itself, which waits for jobs. */
function connect({ socket }: Setup): Redis {
  const connection = new Redis(socket, { maxRetriesPerRequest: null })
  // Each queue and each worker listens to it.
  connection.setMaxListeners(0)
  return connection
}

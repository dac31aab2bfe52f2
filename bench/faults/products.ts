import Bottleneck from 'bottleneck'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Shaper } from '../../dist/src/index.js'

/** Departures are this far apart: 20 a second. */
export const INTERVAL_MS = 50
const CONCURRENCY = 20
const KEY = 'k'

export type Handler = (id: number) => Promise<void>

/** One product in one process: it accepts jobs, runs handlers, or both. */
export interface FaultProduct {
  readonly name: string
  readonly setting: string
  /** Its jobs live in the process that accepts them: then that process is the worker, too. */
  readonly isLocal: boolean
  /** Resolves, with a function that accepts a job, when it may be used. */
  open(address: string, handler: Handler | undefined): Promise<(id: number) => Promise<void>>
}

const velvetRope: FaultProduct = {
  name: 'velvet-rope',
  setting: `limit '1000, 20/s', all else by default`,
  isLocal: false,
  async open(address, handler) {
    const shaper = new Shaper('faults', { limits: { '*': '1000, 20/s' }, connection: address })
    shaper.on('error', () => undefined)
    if (handler !== undefined) shaper.work((job) => handler(job.data as number), { concurrency: CONCURRENCY })
    await shaper.ready()
    return async (id) => {
      const admission = await shaper.enqueue(KEY, id, { id: `j${id}` })
      if (!admission.accepted) throw new Error(`rejected: ${admission.reason}`)
    }
  },
}

const bullmq: FaultProduct = {
  name: 'BullMQ',
  setting: `one queue, limiter max 1 per ${INTERVAL_MS} ms, attempts 3, all else by default`,
  isLocal: false,
  async open(address, handler) {
    const connection = new Redis(address, { maxRetriesPerRequest: null })
    connection.on('error', () => undefined)
    const queue = new Queue(KEY, { connection, defaultJobOptions: { attempts: 3 } })
    queue.on('error', () => undefined)
    if (handler !== undefined) {
      const limiter = { max: 1, duration: INTERVAL_MS }
      const worker = new Worker(KEY, ({ data }) => handler(data.id), {
        connection,
        limiter,
        concurrency: CONCURRENCY,
      })
      worker.on('error', () => undefined)
      await worker.waitUntilReady()
    }
    await queue.waitUntilReady()
    // The same id again, after an error, is the same job.
    return async (id) => void (await queue.add('job', { id }, { jobId: `j${id}` }))
  },
}

const bottleneck: FaultProduct = {
  name: 'Bottleneck',
  setting: `on Redis, minTime ${INTERVAL_MS}, all else by default`,
  isLocal: true,
  async open(address, handler) {
    const client = new Redis(address, { maxRetriesPerRequest: null })
    client.on('error', () => undefined)
    const connection = new Bottleneck.IORedisConnection({ client })
    connection.on('error', () => undefined)
    await connection.ready
    const limiter = new Bottleneck({ id: KEY, connection, minTime: INTERVAL_MS })
    limiter.on('error', () => undefined)
    await limiter.ready()
    const queued = new Map<string, () => void>()
    limiter.on('queued', ({ options }: { options: { id?: string } }) => {
      queued.get(options.id ?? '')?.()
      queued.delete(options.id ?? '')
    })
    return (id) =>
      new Promise((resolve) => {
        const name = `j${id}`
        queued.set(name, resolve)
        // It resolves when the job has run.
        void limiter.schedule({ id: name }, () => handler!(id)).catch(() => undefined)
      })
  },
}

export const FAULT_PRODUCTS: readonly FaultProduct[] = [velvetRope, bullmq, bottleneck]

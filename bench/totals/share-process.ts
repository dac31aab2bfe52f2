import Bottleneck from 'bottleneck'
import { type Job, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Shaper } from '../../src/index.ts'

/** What the process that measures orders; the products of the table. */
export interface ShareOrder {
  readonly product: keyof typeof PRODUCTS
  readonly address: string
  readonly tenants: readonly string[]
  /** Starts a second, of all together. */
  readonly rate: number
}

/** Jobs go in by `enqueue` of any process, and start in any of them. */
export interface Fleetmate {
  enqueue(tenant: string, at: number, count: number): Promise<void>
}

/** Where and when a job started; milliseconds since the epoch. */
export interface ShareStart {
  readonly tenant: string
  readonly enqueuedAt: number
  readonly at: number
}

type OnStart = (tenant: string, enqueuedAt: number) => void

const CONCURRENCY = 200
const KEEP = { removeOnComplete: 1_000, removeOnFail: 1_000 }

async function velvetRope({ address, rate }: ShareOrder, onStart: OnStart): Promise<Fleetmate> {
  const limits = { '*': `1000000, ${rate}/s`, 'all/': `1000000, ${rate}/s` }
  const shaper = new Shaper<number>('shares', { limits, connection: `unix://${address}` })
  shaper.on('error', (error) => console.error(error.message))
  await shaper.ready()
  shaper.work((job) => onStart(job.key.slice('all/'.length), job.data), { concurrency: CONCURRENCY })
  return {
    async enqueue(tenant, at, count) {
      const one = { key: `all/${tenant}`, data: at }
      await shaper.enqueueMany(Array.from({ length: count }, () => one))
    },
  }
}

interface Payload {
  readonly tenant: string
  readonly at: number
}

/** BullMQ counts starts for each queue; `rateOf` says how many a second one queue gets. */
function bullmq(nameOf: (tenant: string) => string, rateOf: (order: ShareOrder) => number) {
  return async (order: ShareOrder, onStart: OnStart): Promise<Fleetmate> => {
    const connection = new Redis(order.address, { maxRetriesPerRequest: null })
    connection.setMaxListeners(0)
    const limiter = { max: 1, duration: 1_000 / rateOf(order) }
    const start = async ({ data }: Job<Payload>) => onStart(data.tenant, data.at)
    const queues = new Map<string, Queue<Payload>>()
    for (const name of new Set(order.tenants.map(nameOf))) {
      queues.set(name, new Queue<Payload>(name, { connection, defaultJobOptions: KEEP }))
      const worker = new Worker<Payload>(name, start, { connection, concurrency: CONCURRENCY, limiter })
      await worker.waitUntilReady()
    }
    return {
      async enqueue(tenant, at, count) {
        const one = { name: 'job', data: { tenant, at } }
        await queues.get(nameOf(tenant))!.addBulk(Array.from({ length: count }, () => one))
      },
    }
  }
}

/** A limiter for each tenant, chained to one for all; its jobs stay in the process that scheduled them. */
async function bottleneck({ address, rate }: ShareOrder, onStart: OnStart): Promise<Fleetmate> {
  const connection = new Bottleneck.IORedisConnection({ client: new Redis(address) })
  await connection.ready
  const all = new Bottleneck({ id: 'all', connection, minTime: 1_000 / rate })
  const group = new Bottleneck.Group({ id: 'tenants', connection, minTime: 1_000 / rate })
  group.on('created', (limiter: Bottleneck) => void limiter.chain(all))
  return {
    async enqueue(tenant, at, count) {
      const limiter = group.key(tenant)
      for (let n = 0; n < count; n++) void limiter.schedule(async () => onStart(tenant, at))
    },
  }
}

export const PRODUCTS = {
  'velvet-rope': velvetRope,
  'BullMQ, one queue': bullmq(
    () => 'all',
    ({ rate }) => rate,
  ),
  'BullMQ, a queue per tenant': bullmq(
    (tenant) => tenant,
    ({ rate, tenants }) => rate / tenants.length,
  ),
  'Bottleneck, chained': bottleneck,
} as const

if (process.send !== undefined) {
  const order = JSON.parse(process.argv[2]!) as ShareOrder
  const mate = await PRODUCTS[order.product](order, (tenant, enqueuedAt) => {
    const at = performance.timeOrigin + performance.now()
    process.send!({ tenant, enqueuedAt, at } satisfies ShareStart)
  })
  process.on('message', (message) => {
    const { tenant, at, count } = message as { tenant: string; at: number; count: number }
    void mate.enqueue(tenant, at, count)
  })
  process.on('disconnect', () => process.exit())
  process.send('ready')
}

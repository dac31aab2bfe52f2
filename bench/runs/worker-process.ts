import Bottleneck from 'bottleneck'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Shaper } from '../../src/index.ts'

export interface RunOrder {
  readonly product: keyof typeof PRODUCTS
  readonly limits: Readonly<Record<string, string>>
  readonly keys: readonly string[]
  /** Starts a second, of all keys together. */
  readonly rate: number
  readonly connection: string
  /** So many jobs are brought before any may start. */
  readonly jobs: number
}

/** When a handler's first statement ran; milliseconds since the epoch. */
export type RunStart = number

/** Brings its jobs; what it returns starts them. */
type Product = (order: RunOrder, onStart: () => void) => Promise<() => void>

const CONCURRENCY = 500
const PER_CALL = 1_000
const SENT_EACH_MS = 200

/** The key of each job, call by call. */
function* calls({ keys, jobs }: RunOrder): Generator<readonly string[]> {
  for (let from = 0; from < jobs; from += PER_CALL)
    yield Array.from(
      { length: Math.min(PER_CALL, jobs - from) },
      (_, index) => keys[(from + index) % keys.length]!,
    )
}

const velvetRope: Product = async (order, onStart) => {
  const { limits, connection } = order
  const shaper = new Shaper<null>('runs', { limits, connection })
  shaper.on('error', (error) => console.error(error.message))
  await shaper.ready()
  for (const keys of calls(order)) await shaper.enqueueMany(keys.map((key) => ({ key, data: null })))
  return () => void shaper.work(onStart, { concurrency: CONCURRENCY })
}

/** One queue for all keys: BullMQ has no limit over several. Its limiter counts in whole milliseconds. */
const bullmq: Product = async (order, onStart) => {
  const connection = new Redis(order.connection, { maxRetriesPerRequest: null })
  const queue = new Queue('runs', { connection, defaultJobOptions: { removeOnComplete: 1_000 } })
  for (const keys of calls(order)) await queue.addBulk(keys.map((key) => ({ name: 'job', data: { key } })))
  const max = Math.ceil(order.rate / 1_000)
  const limiter = { max, duration: Math.round((1_000 * max) / order.rate) }
  return () =>
    void new Worker('runs', async () => onStart(), { connection, concurrency: CONCURRENCY, limiter })
}

/** A limiter for each key, chained to one for all; a job stays in the process that scheduled it. */
const bottleneck: Product = async (order, onStart) => {
  const connection = new Bottleneck.IORedisConnection({ client: new Redis(order.connection) })
  await connection.ready
  const minTime = 1_000 / order.rate
  const all = new Bottleneck({ id: 'all', connection, minTime })
  const group = new Bottleneck.Group({ id: 'keys', connection })
  group.on('created', (limiter: Bottleneck) => void limiter.chain(all))
  const start = async () => onStart()
  return () => {
    for (const keys of calls(order)) for (const key of keys) void group.key(key).schedule(start)
  }
}

const PRODUCTS = { 'velvet-rope': velvetRope, BullMQ: bullmq, Bottleneck: bottleneck } as const

const order = JSON.parse(process.argv[2]!) as RunOrder
const seen: RunStart[] = []
const begin = await PRODUCTS[order.product](
  order,
  () => void seen.push(performance.timeOrigin + performance.now()),
)
process.once('message', begin)
setInterval(() => process.send!(seen.splice(0)), SENT_EACH_MS)
process.send!('ready')

import { keysNamed } from '../../burst.ts'
import { ROPE } from '../../products/index.ts'
import { loadRedisProduct, type RedisProductName } from '../../products/redis/index.ts'
import { handInBatches, handSingly } from '../../redis/handing.ts'
import { RedisInfo } from '../../redis/info.ts'
import { openProducer } from '../../redis/stage.ts'
import { forkWorker } from '../../redis/worker-process.ts'
import { cell, decimals, medianOf, ropeOf, verdict } from '../../report/figures.ts'
import type { Scenario } from '../scenario.ts'

const KEYS = 10_000
/** So fast that no job waits for a slot. */
const PACE = { count: 1_000_000, periodMs: 1_000 }
const IN_FLIGHT = 64
const PER_CALL = 200

const whole = decimals(0)
const two = decimals(2)

/** How many jobs a second get from a producer in one process to a handler in another? */
export const redisEndToEnd: Scenario<RedisProductName> = {
  name: 'redis-end-to-end',
  timeLimitMs: 120_000,

  trials(isQuick) {
    const products = [ROPE, 'bullmq-unshaped', 'bullmq-limited'] as const
    const jobs = isQuick ? 5_000 : 20_000
    const keys = isQuick ? KEYS / 10 : KEYS
    return products.map((product) => ({ product, pace: PACE, keys, jobs }))
  },

  async measure({ product, pace, keys, jobs }, socket) {
    const setup = { socket, pace, keys: keysNamed('key', keys) }
    const worker = await forkWorker({ product, setup })
    const producer = await openProducer(await loadRedisProduct(product), setup)
    const info = new RedisInfo(socket)
    let total = 0
    const rateOf = async (count: number, hand: () => Promise<void>) => {
      total += count
      const from = performance.now()
      await hand()
      await worker.started(total)
      return (count * 1_000) / (performance.now() - from)
    }
    const singly = (count: number) => rateOf(count, () => handSingly(producer, setup.keys, count, IN_FLIGHT))
    const inBatches = (count: number) =>
      rateOf(count, () => handInBatches(producer, setup.keys, count, PER_CALL))
    await singly(jobs / 10)
    const from = await info.cpuSeconds()
    const inFlight = await singly(jobs)
    const redisMicroseconds = (((await info.cpuSeconds()) - from) * 1e6) / jobs
    await inBatches(jobs / 10)
    return { figures: { inFlight, redisMicroseconds, perCall: await inBatches(jobs) } }
  },

  tables(results) {
    const rope = ropeOf(results)
    const unshaped = results.find(({ trial }) => trial.product === 'bullmq-unshaped')
    const ratioOf = (figure: string) => {
      const [ours, theirs] = [medianOf(rope, figure), medianOf(unshaped, figure)]
      return ours === undefined || theirs === undefined ? undefined : ours / theirs
    }
    return [
      {
        title: `Redis, end to end: jobs per second from a producer to a handler, ${whole(results[0]!.trial.keys)} keys`,
        columns: [
          'product',
          'configured as',
          `enqueued singly, ${IN_FLIGHT} in flight`,
          `enqueued ${PER_CALL} per call`,
          'us of Redis per job, singly',
        ],
        rows: results.map((result) => [
          result.name,
          result.setting,
          cell(result, 'inFlight', whole, rope),
          cell(result, 'perCall', whole, rope),
          cell(result, 'redisMicroseconds', whole, rope),
        ]),
        notes: [
          verdict('enqueued singly, / unshaped BullMQ', ratioOf('inFlight'), { least: 0.6 }, two),
          verdict('enqueued many per call, / unshaped BullMQ', ratioOf('perCall'), { least: 0.6 }, two),
          'A producer in one process, a worker with 100 handlers at once in another, Redis in a third; from the first ' +
            'enqueue to the start of the last handler. The handler does nothing.',
          'BullMQ has no limit per key but a queue for each, and thousands of queues need as many workers and connections; so ' +
            'its limiter is here one limit for all keys together, in one queue.',
        ],
      },
    ]
  },
}

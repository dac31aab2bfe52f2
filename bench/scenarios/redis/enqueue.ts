import { keysNamed } from '../../burst.ts'
import { ROPE } from '../../products/index.ts'
import { loadRedisProduct, type RedisProductName } from '../../products/redis/index.ts'
import type { Producer } from '../../products/redis/product.ts'
import { handInBatches, handSingly } from '../../redis/handing.ts'
import { openProducer } from '../../redis/stage.ts'
import { cell, decimals, medianOf, ropeOf, verdict } from '../../report/figures.ts'
import type { Table } from '../../report/table.ts'
import type { Result, Scenario } from '../scenario.ts'
import { nameSize, sizesOf } from '../throughput.ts'

const SIZES = [1, 1_000]
/** Nothing departs: there is no worker, and the next slot is an hour away. */
const PACE = { count: 1, periodMs: 3_600_000 }
const IN_FLIGHT = 64
const PER_CALL = 100

const whole = decimals(0)
const two = decimals(2)

/** How many jobs a second does one producer get an answer for? */
export const redisEnqueue: Scenario<RedisProductName> = {
  name: 'redis-enqueue',
  timeLimitMs: 60_000,

  trials(isQuick) {
    const products = [ROPE, 'bullmq-per-key', 'bottleneck', 'bare-rpush'] as const
    const jobs = isQuick ? 3_000 : 20_000
    return SIZES.flatMap((keys) => products.map((product) => ({ product, pace: PACE, keys, jobs })))
  },

  async measure({ product, pace, keys, jobs }, socket) {
    const setup = { socket, pace, keys: keysNamed('key', keys) }
    const producer = await openProducer(await loadRedisProduct(product), setup)
    const few = jobs / 10
    await handSingly(producer, setup.keys, jobs / 2, IN_FLIGHT)
    await handSingly(producer, setup.keys, few, 1)
    return {
      figures: {
        oneAtATime: await rateOf(few, () => handSingly(producer, setup.keys, few, 1)),
        inFlight: await rateOf(jobs, () => handSingly(producer, setup.keys, jobs, IN_FLIGHT)),
        ...(await batches(producer, setup.keys, jobs)),
      },
    }
  },

  tables(results) {
    return sizesOf(results).map((keys) =>
      table(
        keys,
        results.filter(({ trial }) => trial.keys === keys),
      ),
    )
  },
}

async function batches(
  producer: Producer,
  keys: readonly string[],
  jobs: number,
): Promise<Record<string, number>> {
  if (producer.enqueueMany === undefined) return {}
  await handInBatches(producer, keys, jobs / 10, PER_CALL)
  return { perCall: await rateOf(jobs, () => handInBatches(producer, keys, jobs, PER_CALL)) }
}

async function rateOf(jobs: number, work: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await work()
  return (jobs * 1_000) / (performance.now() - from)
}

function table(keys: number, results: readonly Result[]): Table {
  const rope = ropeOf(results)
  const ratioTo = (product: RedisProductName, figure: string) => {
    const ours = medianOf(rope, figure)
    const theirs = medianOf(
      results.find(({ trial }) => trial.product === product),
      figure,
    )
    return ours === undefined || theirs === undefined ? undefined : ours / theirs
  }
  return {
    title: `Redis, enqueue: jobs per second that one producer gets an answer for, ${nameSize(keys)}`,
    columns: [
      'product',
      'configured as',
      'one at a time',
      `${IN_FLIGHT} in flight`,
      `${PER_CALL} per call, one call at a time`,
    ],
    rows: results.map((result) => [
      result.name,
      result.setting,
      cell(result, 'oneAtATime', whole, rope),
      cell(result, 'inFlight', whole, rope),
      cell(result, 'perCall', whole, rope),
    ]),
    notes: [
      verdict(`${IN_FLIGHT} in flight, / BullMQ`, ratioTo('bullmq-per-key', 'inFlight'), { least: 1.5 }, two),
      verdict(`${IN_FLIGHT} in flight, / bare RPUSH`, ratioTo('bare-rpush', 'inFlight'), { least: 0.5 }, two),
      verdict('one at a time, / BullMQ', ratioTo('bullmq-per-key', 'oneAtATime'), { least: 1.5 }, two),
      verdict('one at a time, / bare RPUSH', ratioTo('bare-rpush', 'oneAtATime'), { least: 0.5 }, two),
      ...(keys === 1
        ? [
            'velvet-rope `enqueue` and `enqueueMany`, BullMQ `add` and `addBulk`, RPUSH of one value and of many.',
            'Bottleneck answers with its event "queued"; the job itself stays in the process and is lost with it. It has no ' +
              'call for many. rate-limiter-flexible says nothing before a job may start, so it is not here.',
          ]
        : []),
    ],
  }
}

import { Shaper } from '../../../dist/src/index.js'
import { keysNamed } from '../../burst.ts'
import { ROPE } from '../../products/index.ts'
import type { Payload } from '../../products/product.ts'
import type { RedisProductName } from '../../products/redis/index.ts'
import { velvetRope } from '../../products/redis/velvet-rope.ts'
import { limitOf } from '../../products/velvet-rope.ts'
import { handInBatches } from '../../redis/handing.ts'
import { RedisInfo } from '../../redis/info.ts'
import { openProducer } from '../../redis/stage.ts'
import { cell, decimals, medianOf, verdict } from '../../report/figures.ts'
import type { Result, Scenario } from '../scenario.ts'

const SIZES = [1_000, 1_000_000]
const QUICK_SIZES = [1_000, 50_000]
const PACE = { count: 1_000_000, periodMs: 1_000 }
const WARM_UP_DEPARTURES = 5_000
const PER_CALL = 1_000

const whole = decimals(0)
const two = decimals(2)

/**
 * Does a departure cost more when more buckets live? Every bucket holds one job, and every handler puts a new one
 * into the line that its own came from, so as many buckets live at the end as at the start.
 */
export const redisGrowth: Scenario<RedisProductName> = {
  name: 'redis-growth',
  timeLimitMs: 900_000,
  mostRounds: 1,

  trials(isQuick) {
    const sizes = isQuick ? QUICK_SIZES : SIZES
    return sizes.map((keys) => ({ product: ROPE, pace: PACE, keys, jobs: isQuick ? 5_000 : 20_000 }))
  },

  async measure({ pace, keys, jobs }, socket) {
    const info = new RedisInfo(socket)
    const setup = { socket, pace, keys: keysNamed('key', keys) }
    const empty = await info.usedMemory()
    const filling = performance.now()
    await handInBatches(await openProducer(velvetRope, setup), setup.keys, keys, PER_CALL)
    const fillSeconds = (performance.now() - filling) / 1_000
    const bytesPerBucket = ((await info.usedMemory()) - empty) / keys
    const shaper = new Shaper<Payload, void>('bench', {
      limits: { '*': limitOf(pace) },
      connection: `unix://${socket}`,
    })
    await shaper.ready()
    const departed = countdown([WARM_UP_DEPARTURES, WARM_UP_DEPARTURES + jobs])
    shaper.work(
      ({ key, data }) => {
        void shaper.enqueue(key, data)
        departed.count()
      },
      { concurrency: 100 },
    )
    await departed.reached[0]
    const [from, cpu] = [performance.now(), await info.cpuSeconds()]
    await departed.reached[1]
    const used = (await info.cpuSeconds()) - cpu
    return {
      figures: {
        redisMicroseconds: (used * 1e6) / jobs,
        microseconds: ((performance.now() - from) * 1_000) / jobs,
        bytesPerBucket,
        fillSeconds,
      },
    }
  },

  tables(results) {
    const [smallest] = results
    const largest = results.at(-1)
    const factor = (figure: string) => ratio(medianOf(largest, figure), medianOf(smallest, figure))
    const sizes = `${size(largest)} live buckets / with ${size(smallest)}`
    return [
      {
        title: `Redis, growth: cost of a departure, ${whole(results[0]!.trial.jobs)} of them, by live buckets`,
        columns: [
          'product',
          'live buckets',
          'us of Redis per departure',
          'us on the clock per departure',
          'bytes of Redis per bucket',
          'filled in',
        ],
        rows: results.map((result) => [
          result.name,
          size(result),
          cell(result, 'redisMicroseconds', whole, smallest),
          cell(result, 'microseconds', whole, smallest),
          cell(result, 'bytesPerBucket', (bytes) => `${whole(bytes)} B`),
          cell(result, 'fillSeconds', (seconds) => `${whole(seconds)} s`),
        ]),
        notes: [
          verdict(`processor time of Redis with ${sizes}`, factor('redisMicroseconds'), { most: 1.5 }, two),
          verdict(`time on the clock with ${sizes}`, factor('microseconds'), { most: 1.5 }, two),
          'A departure here is the whole round: claimed, handed over, through the gate, the handler, the end of the job, and ' +
            'the admission of its successor. In brackets: as a multiple of the first row.',
        ],
      },
    ]
  },
}

/** Promises for the moments at which so many have been counted. */
function countdown(marks: readonly number[]): { readonly reached: Promise<void>[]; count(): void } {
  const waiting = new Map<number, () => void>()
  const reached = marks.map((mark) => new Promise<void>((resolve) => waiting.set(mark, resolve)))
  let count = 0
  return {
    reached,
    count() {
      waiting.get(++count)?.()
    },
  }
}

function size(result: Result | undefined): string {
  return whole(result?.trial.keys ?? Number.NaN)
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base
}

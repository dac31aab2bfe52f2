import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Shaper } from '../../dist/src/index.js'
import { feed, keysNamed } from '../burst.ts'
import { heapInUse } from '../heap.ts'
import { ROPE } from '../products/index.ts'
import type { Payload } from '../products/product.ts'
import { limitOf } from '../products/velvet-rope.ts'
import { cell, decimals, medianOf, ropeOf, verdict } from '../report/figures.ts'
import { sum } from '../statistics.ts'
import type { Scenario } from './scenario.ts'

const SIZES = [1_000, 10_000, 100_000, 1_000_000]
const PACE = { count: 1_000_000_000, periodMs: 1_000 }
const DEPARTURES = 200_000
const WARM_UP_DEPARTURES = 100_000

const two = decimals(2)
const three = decimals(3)
const whole = decimals(0)

/**
 * Does a departure cost more when more buckets live? Every bucket holds one job, and every handler puts a new one
 * into the line that its own came from, so as many buckets live at the end as at the start.
 */
export const growth: Scenario = {
  name: 'growth',
  timeLimitMs: 120_000,

  trials(isQuick) {
    const sizes = isQuick ? SIZES.slice(0, 3) : SIZES
    return sizes.map((keys) => ({ product: ROPE, pace: PACE, keys, jobs: DEPARTURES }))
  },

  async measure({ pace, keys, jobs }) {
    const empty = heapInUse()
    const shaper = new Shaper<Payload, void>('bench', { limits: { '*': limitOf(pace) } })
    const enqueue = async (key: string, data: Payload) => void (await shaper.enqueue(key, data))
    await feed(enqueue, keysNamed('key', keys), keys)
    const full = heapInUse()
    const collections: PerformanceEntry[] = []
    const observer = new PerformanceObserver((list) => void collections.push(...list.getEntries()))
    observer.observe({ entryTypes: ['gc'] })
    const [from, to] = await new Promise<[number, number]>((resolve) => {
      let count = 0
      let start = 0
      shaper.work(({ key, data }) => {
        if (++count === WARM_UP_DEPARTURES) start = performance.now()
        if (count === WARM_UP_DEPARTURES + jobs) resolve([start, performance.now()])
        void shaper.enqueue(key, data)
      })
    })
    // The last records come with the next turns.
    await sleep(10)
    const collecting = collections
      .filter(({ startTime }) => startTime >= from && startTime < to)
      .map(({ duration }) => duration)
    return {
      figures: {
        microseconds: ((to - from) * 1_000) / jobs,
        collecting: (sum(collecting) * 1_000) / jobs,
        bytesPerBucket: (full - empty) / keys,
      },
    }
  },

  tables(results) {
    const [smallest] = results
    const least = medianOf(smallest, 'microseconds')
    const most = medianOf(ropeOf(results, SIZES.at(-1)), 'microseconds')
    const factor = least === undefined || most === undefined ? undefined : most / least
    return [
      {
        title: `Growth: cost of a departure, ${whole(DEPARTURES)} of them, by live buckets`,
        columns: ['product', 'live buckets', 'us per departure', 'of it collecting', 'heap per bucket'],
        rows: results.map((result) => [
          result.name,
          whole(result.trial.keys),
          cell(result, 'microseconds', two, smallest),
          cell(result, 'collecting', two),
          cell(result, 'bytesPerBucket', (bytes) => `${whole(bytes)} B`),
        ]),
        notes: [
          verdict('cost with 1,000,000 live buckets / with 1,000', factor, { most: 1.5 }, three),
          'A departure here is the whole round: out of the line, through the gate, the handler, the end of the job, and the ' +
            'admission of its successor. In brackets: as a multiple of the first row.',
        ],
      },
    ]
  },
}

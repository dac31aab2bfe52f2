import { startsOfBurst } from '../burst.ts'
import { loadProduct, PEERS, ROPE } from '../products/index.ts'
import { intervalMs } from '../products/product.ts'
import { cell, cellOfTotal, decimals, medianOf, ropeOf, totalOf, verdict } from '../report/figures.ts'
import { breachesOfSpacing } from '../spacing.ts'
import { gapsOf, mostWithin, quantile, utilisation } from '../statistics.ts'
import type { Scenario } from './scenario.ts'

const JOBS = 400
const WARM_UP_JOBS = 60
const RATE = 200
const ONE_BY_ONE = { count: 1, periodMs: 1_000 / RATE }
const BY_THE_SECOND = { count: RATE, periodMs: 1_000 }

const three = decimals(3)
const whole = decimals(0)

/** One key at 200/s, and a burst of two seconds' work at once: how even are the starts of the handlers? */
export const smoothnessOneKey: Scenario = {
  name: 'smoothness-1-key',
  timeLimitMs: 60_000,

  trials() {
    const paced = [ROPE, 'spin-loop', ...PEERS] as const
    return [
      ...paced.map((product) => ({ product, pace: ONE_BY_ONE, keys: 1, jobs: JOBS })),
      { product: 'p-throttle', pace: BY_THE_SECOND, keys: 1, jobs: JOBS },
    ]
  },

  async measure({ product: name, pace, jobs }) {
    const product = await loadProduct(name)
    await startsOfBurst(product, ONE_BY_ONE, ['warm-up'], WARM_UP_JOBS)
    const starts = (await startsOfBurst(product, pace, ['measured'], jobs)).flat()
    const interval = intervalMs(pace)
    const gaps = gapsOf(starts).map((gap) => gap / interval)
    return {
      figures: {
        smallestGap: Math.min(...gaps),
        firstPercentile: quantile(gaps, 0.01),
        utilisation: utilisation(starts, interval),
        mostInOneSecond: mostWithin(starts, 1_000),
        breaches: breachesOfSpacing(starts, pace),
      },
      starts: starts.map((start) => Math.round((start - starts[0]!) * 1_000) / 1_000),
    }
  },

  tables(results) {
    const rope = ropeOf(results)
    return [
      {
        title: `Smoothness: 1 key, ${RATE}/s, a burst of ${JOBS} jobs (T = ${ONE_BY_ONE.periodMs} ms)`,
        columns: [
          'product',
          'configured as',
          'smallest gap / T',
          '1st percentile / T',
          'utilisation',
          'most starts in 1 s',
          'breaches of L2',
        ],
        rows: results.map((result) => [
          result.name,
          result.setting,
          cell(result, 'smallestGap', three, rope),
          cell(result, 'firstPercentile', three, rope),
          cell(result, 'utilisation', three, rope),
          cell(result, 'mostInOneSecond', whole, rope),
          cellOfTotal(result, 'breaches', JOBS),
        ]),
        notes: [
          verdict('smallest gap / T', medianOf(rope, 'smallestGap'), { least: 0.75 }, three),
          verdict('1st percentile / T', medianOf(rope, 'firstPercentile'), { least: 0.95 }, three),
          verdict('utilisation', medianOf(rope, 'utilisation'), { least: 0.995 }, three),
          verdict('most starts in 1 s', medianOf(rope, 'mostInOneSecond'), { most: RATE + 1 }, whole),
          verdict('breaches of L2 in all rounds', totalOf(rope, 'breaches'), { most: 0 }, whole),
        ],
      },
    ]
  },
}

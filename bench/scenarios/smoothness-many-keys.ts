import { keysNamed, startsOfBurst } from '../burst.ts'
import { loadProduct, PEERS, ROPE } from '../products/index.ts'
import { intervalMs } from '../products/product.ts'
import { cell, cellOfTotal, decimals, medianOf, ropeOf, totalOf, verdict } from '../report/figures.ts'
import { breachesOfSpacing } from '../spacing.ts'
import { gapsOf, quantile, sum, utilisation } from '../statistics.ts'
import type { Scenario } from './scenario.ts'

const KEYS = 200
const JOBS_PER_KEY = 10
const JOBS = KEYS * JOBS_PER_KEY
const RATE = 5
const PACE = { count: 1, periodMs: 1_000 / RATE }
const WARM_UP = { pace: { count: 1, periodMs: 5 }, jobs: 4_000 }

const three = decimals(3)
const milliseconds = (value: number) => `${decimals(2)(value)} ms`

/** Two hundred keys at 5/s, each with a burst at the same moment: does one key's crowd disturb the others? */
export const smoothnessManyKeys: Scenario = {
  name: 'smoothness-200-keys',
  timeLimitMs: 60_000,

  trials() {
    return ([ROPE, ...PEERS] as const).map((product) => ({ product, pace: PACE, keys: KEYS, jobs: JOBS }))
  },

  async measure({ product: name, pace, keys, jobs }) {
    const product = await loadProduct(name)
    await startsOfBurst(product, WARM_UP.pace, keysNamed('warm-up', 20), WARM_UP.jobs)
    const lines = await startsOfBurst(product, pace, keysNamed('key', keys), jobs)
    const interval = intervalMs(pace)
    const gaps = lines.flatMap(gapsOf)
    return {
      figures: {
        smallestGap: Math.min(...gaps) / interval,
        gapError: quantile(
          gaps.map((gap) => Math.abs(gap - interval)),
          0.99,
        ),
        utilisation: sum(lines.map((starts) => utilisation(starts, interval))) / keys,
        breaches: sum(lines.map((starts) => breachesOfSpacing(starts, pace))),
      },
    }
  },

  tables(results) {
    const rope = ropeOf(results)
    return [
      {
        title: `Smoothness: ${KEYS} keys x ${RATE}/s, a burst of ${JOBS_PER_KEY} jobs for each (T = ${PACE.periodMs} ms)`,
        columns: [
          'product',
          'configured as',
          'smallest gap / T',
          'p99 gap error',
          'utilisation',
          'breaches of L2',
        ],
        rows: results.map((result) => [
          result.name,
          result.setting,
          cell(result, 'smallestGap', three, rope),
          cell(result, 'gapError', milliseconds, rope),
          cell(result, 'utilisation', three, rope),
          cellOfTotal(result, 'breaches', JOBS),
        ]),
        notes: [
          verdict('smallest gap / T', medianOf(rope, 'smallestGap'), { least: 0.985 }, three),
          verdict('p99 gap error', medianOf(rope, 'gapError'), { most: 2 }, milliseconds),
          verdict('utilisation', medianOf(rope, 'utilisation'), { least: 0.998 }, three),
          verdict('breaches of L2 in all rounds', totalOf(rope, 'breaches'), { most: 0 }, decimals(0)),
        ],
      },
    ]
  },
}

import { startsOfBurst } from '../burst.ts'
import { loadProduct, PEERS, ROPE } from '../products/index.ts'
import type { Scenario } from './scenario.ts'
import { smoothnessOfLine, tableOfLine } from './smoothness.ts'

const JOBS = 400
const WARM_UP_JOBS = 60
const RATE = 200
const ONE_BY_ONE = { count: 1, periodMs: 1_000 / RATE }
const BY_THE_SECOND = { count: RATE, periodMs: 1_000 }
const TARGETS = { smallestGap: 0.75, firstPercentile: 0.95, utilisation: 0.995, mostInOneSecond: RATE + 1 }

/** One key at 200/s, and a burst of two seconds' work at once: how even are the starts of the handlers? */
export const smoothnessOneKey: Scenario = {
  name: 'smoothness-1-key',
  timeLimitMs: 60_000,

  trials() {
    const paced = [ROPE, 'spin-loop', ...PEERS] as const
    return [
      ...paced.map((product) => ({ product, pace: ONE_BY_ONE, keys: 1, jobs: JOBS })),
      { product: ROPE, pace: { ...ONE_BY_ONE, isStrict: true }, keys: 1, jobs: JOBS },
      { product: 'p-throttle', pace: BY_THE_SECOND, keys: 1, jobs: JOBS },
    ]
  },

  async measure({ product: name, pace, jobs }) {
    const product = await loadProduct(name)
    await startsOfBurst(product, ONE_BY_ONE, ['warm-up'], WARM_UP_JOBS)
    const starts = (await startsOfBurst(product, pace, ['measured'], jobs)).flat()
    return smoothnessOfLine(starts, pace)
  },

  tables(results) {
    const title = `Smoothness: 1 key, ${RATE}/s, a burst of ${JOBS} jobs (T = ${ONE_BY_ONE.periodMs} ms)`
    return [tableOfLine(title, results, TARGETS)]
  },
}

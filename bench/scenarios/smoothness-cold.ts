import { startsOfBurst } from '../burst.ts'
import { loadProduct, ROPE } from '../products/index.ts'
import type { Scenario } from './scenario.ts'
import { smoothnessOfLine, tableOfLine } from './smoothness.ts'

const JOBS = 1_000
const RATE = 200
const PACE = { count: 1, periodMs: 1_000 / RATE }
const TARGETS = { smallestGap: 0.75, firstPercentile: 0.75, utilisation: 0.98, mostInOneSecond: RATE + 1 }

/** One key at 200/s in a process that nothing has warmed up: what compilations and collections do to the first starts. */
export const smoothnessCold: Scenario = {
  name: 'smoothness-cold',
  timeLimitMs: 60_000,

  trials() {
    return [
      { product: ROPE, pace: PACE, keys: 1, jobs: JOBS },
      { product: ROPE, pace: { ...PACE, isStrict: true }, keys: 1, jobs: JOBS },
      { product: 'spin-loop', pace: PACE, keys: 1, jobs: JOBS },
    ]
  },

  async measure({ product, pace, jobs }) {
    const starts = await startsOfBurst(await loadProduct(product), pace, ['measured'], jobs)
    return smoothnessOfLine(starts.flat(), pace)
  },

  tables(results) {
    const title = `Smoothness, cold: 1 key, ${RATE}/s, a burst of ${JOBS} jobs without a warm-up (T = ${PACE.periodMs} ms)`
    return [tableOfLine(title, results, TARGETS)]
  },
}

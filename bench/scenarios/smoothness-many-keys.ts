import { keysNamed, startsOfBurst } from '../burst.ts'
import { loadProduct, PEERS, ROPE } from '../products/index.ts'
import type { Scenario } from './scenario.ts'
import { smoothnessOfLines, tableOfLines } from './smoothness.ts'

const KEYS = 200
const JOBS_PER_KEY = 10
const JOBS = KEYS * JOBS_PER_KEY
const RATE = 5
const PACE = { count: 1, periodMs: 1_000 / RATE }
const WARM_UP = { pace: { count: 1, periodMs: 5 }, jobs: 4_000 }
const TARGETS = { smallestGap: 0.985, gapError: 2, utilisation: 0.998 }

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
    return smoothnessOfLines(await startsOfBurst(product, pace, keysNamed('key', keys), jobs), pace)
  },

  tables(results) {
    const title = `Smoothness: ${KEYS} keys x ${RATE}/s, a burst of ${JOBS_PER_KEY} jobs for each (T = ${PACE.periodMs} ms)`
    return [tableOfLines(title, results, TARGETS)]
  },
}

import { startsOfBurst } from '../burst.ts'
import { withNeighbours } from '../neighbours.ts'
import { loadProduct, ROPE } from '../products/index.ts'
import { lagOf, lagTrials, tableOfLag } from './lag-table.ts'
import type { Scenario } from './scenario.ts'

const WARM_UP_JOBS = 60
const WARM_UP_PACE = { count: 1, periodMs: 5 }

/** What a busy machine costs of the rate: one key alone, and beside two processes that spin. */
export const lag: Scenario = {
  name: 'lag',
  timeLimitMs: 120_000,

  trials() {
    return lagTrials([ROPE, 'spin-loop'] as const)
  },

  async measure({ product: name, pace, jobs, neighbours }) {
    const product = await loadProduct(name)
    await startsOfBurst(product, WARM_UP_PACE, ['warm-up'], WARM_UP_JOBS)
    const starts = await withNeighbours(neighbours ?? 0, () => startsOfBurst(product, pace, ['k'], jobs))
    return lagOf(starts.flat(), pace)
  },

  tables(results) {
    return [tableOfLag('Lag: one key on a machine that is idle, and beside two processes that spin', results)]
  },
}

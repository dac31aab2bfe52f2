import { feed, keysNamed, openStage } from '../burst.ts'
import { heapInUse } from '../heap.ts'
import { loadProduct, PEERS, ROPE } from '../products/index.ts'
import { cell, decimals, ropeOf } from '../report/figures.ts'
import type { Scenario } from './scenario.ts'
import { byProduct, nameSize, sizesOf } from './throughput.ts'

const SIZES = [1, 1_000, 100_000]
const HOUR_MS = 3_600_000
const LONGEST_TIMER_MS = 2 ** 31 - 1
const SECONDS_ALLOWED = 12

const whole = decimals(0)

/** What does it cost to wait? A hundred thousand jobs stand in line, over one key or many. */
export const memory: Scenario = {
  name: 'memory',
  timeLimitMs: SECONDS_ALLOWED * 1_000,
  mostRounds: 3,

  trials(isQuick) {
    const waiting = isQuick ? 20_000 : 100_000
    const sizes = isQuick ? SIZES.slice(0, 2) : SIZES
    return sizes.flatMap((keys) => {
      // One more for each key, which starts at once. A timer per job (p-throttle) must stay below Node's longest.
      const jobs = waiting + keys
      const periodMs = Math.floor(Math.min(HOUR_MS, LONGEST_TIMER_MS / (jobs / keys + 1)))
      const pace = { count: 1, periodMs }
      return ([ROPE, ...PEERS, 'bare-arrays'] as const).map((product) => ({ product, pace, keys, jobs }))
    })
  },

  async measure({ product: name, pace, keys, jobs }) {
    const product = await loadProduct(name)
    await feed(openStage(product, pace).enqueue, keysNamed('warm-up', 100), 1_000)
    const names = keysNamed('key', keys)
    const stage = openStage(product, pace)
    const before = heapInUse()
    await feed(stage.enqueue, names, jobs)
    const after = heapInUse()
    return { figures: { bytesPerWaitingJob: (after - before) / (jobs - stage.count) } }
  },

  tables(results) {
    return [
      {
        title: 'Memory: bytes per waiting job, its share of the lines included',
        columns: ['product', 'configured as, with most keys', ...sizesOf(results).map(nameSize)],
        rows: byProduct(results).map((row) => [
          row[0]!.name,
          row.at(-1)!.setting,
          ...row.map((result) =>
            cell(result, 'bytesPerWaitingJob', whole, ropeOf(results, result.trial.keys)),
          ),
        ]),
        notes: [
          'Heap after garbage collection, less the heap before; every product holds the same payload of two strings.',
          `"over ${SECONDS_ALLOWED} s": given up after so long.`,
        ],
      },
    ]
  },
}

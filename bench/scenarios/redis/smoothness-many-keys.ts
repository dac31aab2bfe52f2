import { keysNamed } from '../../burst.ts'
import { ROPE } from '../../products/index.ts'
import { loadRedisProduct, type RedisProductName } from '../../products/redis/index.ts'
import { startsOfRedisBurst } from '../../redis/starts.ts'
import type { Scenario } from '../scenario.ts'
import { smoothnessOfLines, tableOfLines } from '../smoothness.ts'

const KEYS = 200
const JOBS_PER_KEY = 10
const WARM_UP_PER_KEY = 5
const RATE = 5
const PACE = { count: 1, periodMs: 1_000 / RATE }
const TARGETS = { smallestGap: 0.975, gapError: 20, utilisation: 0.99 }

/** Two hundred keys at 5/s, each with a burst at the same moment: does one key's crowd disturb the others? */
export const redisSmoothnessManyKeys: Scenario<RedisProductName> = {
  name: 'redis-smoothness-200-keys',
  timeLimitMs: 60_000,

  trials() {
    const paced = [ROPE, 'bullmq-per-key', 'bottleneck', 'rate-limiter-flexible'] as const
    return paced.map((product) => ({ product, pace: PACE, keys: KEYS, jobs: KEYS * JOBS_PER_KEY }))
  },

  async measure({ product, pace, keys, jobs }, socket) {
    const setup = { socket, pace, keys: keysNamed('key', keys) }
    const lines = await startsOfRedisBurst(
      await loadRedisProduct(product),
      setup,
      jobs,
      WARM_UP_PER_KEY * keys,
    )
    return smoothnessOfLines(lines, pace)
  },

  tables(results) {
    const title =
      `Redis, smoothness: ${KEYS} keys x ${RATE}/s, a burst of ${JOBS_PER_KEY} jobs for each ` +
      `(T = ${PACE.periodMs} ms)`
    return [tableOfLines(title, results, TARGETS)]
  },
}

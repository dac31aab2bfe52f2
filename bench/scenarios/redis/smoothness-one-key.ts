import { ROPE } from '../../products/index.ts'
import { loadRedisProduct, type RedisProductName } from '../../products/redis/index.ts'
import { startsOfRedisBurst } from '../../redis/starts.ts'
import type { Scenario } from '../scenario.ts'
import { smoothnessOfLine, tableOfLine } from '../smoothness.ts'

const JOBS = 400
const WARM_UP_JOBS = 60
const RATE = 200
const ONE_BY_ONE = { count: 1, periodMs: 1_000 / RATE }
const BY_THE_SECOND = { count: RATE, periodMs: 1_000 }
const TARGETS = { smallestGap: 0.75, firstPercentile: 0.9, utilisation: 0.98, mostInOneSecond: RATE + 1 }

/** One key at 200/s, and a burst of two seconds' work at once: how even are the starts of the handlers? */
export const redisSmoothnessOneKey: Scenario<RedisProductName> = {
  name: 'redis-smoothness-1-key',
  timeLimitMs: 60_000,

  trials() {
    const paced = [ROPE, 'bullmq-per-key', 'bottleneck', 'rate-limiter-flexible'] as const
    return [
      ...paced.map((product) => ({ product, pace: ONE_BY_ONE, keys: 1, jobs: JOBS })),
      { product: ROPE, pace: { ...ONE_BY_ONE, isStrict: true }, keys: 1, jobs: JOBS },
      { product: 'bullmq-per-key', pace: BY_THE_SECOND, keys: 1, jobs: JOBS },
    ]
  },

  async measure({ product, pace, jobs }, socket) {
    const setup = { socket, pace, keys: ['measured'] }
    const lines = await startsOfRedisBurst(await loadRedisProduct(product), setup, jobs, WARM_UP_JOBS)
    return smoothnessOfLine(lines.flat(), pace)
  },

  tables(results) {
    const title = `Redis, smoothness: 1 key, ${RATE}/s, a burst of ${JOBS} jobs (T = ${ONE_BY_ONE.periodMs} ms)`
    return [tableOfLine(title, results, TARGETS)]
  },
}

import { withNeighbours } from '../../neighbours.ts'
import { ROPE } from '../../products/index.ts'
import { loadRedisProduct, type RedisProductName } from '../../products/redis/index.ts'
import { startsOfRedisBurst } from '../../redis/starts.ts'
import { lagOf, lagTrials, tableOfLag } from '../lag-table.ts'
import type { Scenario } from '../scenario.ts'

const WARM_UP_JOBS = 20

/** What a busy machine costs of the rate: one key alone, and beside two processes that spin. */
export const redisLag: Scenario<RedisProductName> = {
  name: 'redis-lag',
  timeLimitMs: 120_000,

  trials() {
    return lagTrials([ROPE] as const)
  },

  async measure({ product, pace, jobs, neighbours }, socket) {
    const setup = { socket, pace, keys: ['k'] }
    const loaded = await loadRedisProduct(product)
    const measured = () => startsOfRedisBurst(loaded, setup, jobs, WARM_UP_JOBS)
    return lagOf((await withNeighbours(neighbours ?? 0, measured)).flat(), pace)
  },

  tables(results) {
    const title = 'Redis, lag: one key on a machine that is idle, and beside two processes that spin'
    return [tableOfLag(title, results)]
  },
}

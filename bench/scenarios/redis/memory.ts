import { setTimeout as sleep } from 'node:timers/promises'
import { keysNamed, payload } from '../../burst.ts'
import { ROPE } from '../../products/index.ts'
import { loadRedisProduct, type RedisProductName } from '../../products/redis/index.ts'
import { handInBatches } from '../../redis/handing.ts'
import { RedisInfo } from '../../redis/info.ts'
import { openProducer } from '../../redis/stage.ts'
import { cell, decimals, medianOf, ropeOf, verdict } from '../../report/figures.ts'
import type { Scenario } from '../scenario.ts'
import { byProduct, nameSize, sizesOf } from '../throughput.ts'

const SIZES = [1, 1_000, 100_000]
const PACE = { count: 1, periodMs: 3_600_000 }
const WARM_UP_JOBS = 200
const PER_CALL = 1_000
/** In which Redis gives back the buffers of the last replies. */
const SETTLE_MS = 200
const SECONDS_ALLOWED = 120
const PAYLOAD_BYTES = JSON.stringify(payload(50_000)).length

const whole = decimals(0)

/** What does it cost Redis to let a job wait? A hundred thousand stand in line, over one key or many. */
export const redisMemory: Scenario<RedisProductName> = {
  name: 'redis-memory',
  timeLimitMs: SECONDS_ALLOWED * 1_000,
  mostRounds: 3,

  trials(isQuick) {
    const jobs = isQuick ? 20_000 : 100_000
    const sizes = isQuick ? SIZES.slice(0, 2) : SIZES
    const products = [ROPE, 'bullmq-per-key', 'bullmq-unshaped', 'bare-rpush'] as const
    return sizes.flatMap((keys) => products.map((product) => ({ product, pace: PACE, keys, jobs })))
  },

  async measure({ product, pace, keys, jobs }, socket) {
    const setup = { socket, pace, keys: keysNamed('key', keys) }
    const producer = await openProducer(await loadRedisProduct(product), setup)
    const info = new RedisInfo(socket)
    await handInBatches(producer, ['warm-up'], WARM_UP_JOBS, WARM_UP_JOBS)
    await sleep(SETTLE_MS)
    const before = await info.usedMemory()
    await handInBatches(producer, setup.keys, jobs, PER_CALL)
    await sleep(SETTLE_MS)
    const after = await info.usedMemory()
    return { figures: { bytesPerWaitingJob: (after - before) / jobs, keysOfRedis: await info.countKeys() } }
  },

  tables(results) {
    const sizes = sizesOf(results)
    return [
      {
        title: `Redis, memory: bytes per waiting job with a payload of ${PAYLOAD_BYTES} bytes, its share of the lines included`,
        columns: [
          'product',
          'configured as',
          ...sizes.map(nameSize),
          `Redis keys, ${nameSize(sizes.at(-1) ?? 0)}`,
        ],
        rows: byProduct(results).map((row) => [
          row[0]!.name,
          row[0]!.setting,
          ...row.map((result) =>
            cell(result, 'bytesPerWaitingJob', whole, ropeOf(results, result.trial.keys)),
          ),
          cell(row.at(-1), 'keysOfRedis', whole),
        ]),
        notes: [
          verdict(
            'bytes per waiting job, one deep line',
            medianOf(ropeOf(results, 1), 'bytesPerWaitingJob'),
            { most: PAYLOAD_BYTES + 200 },
            whole,
          ),
          '`used_memory` of Redis without the buffers of clients, with all jobs waiting, less before; nobody takes jobs out.',
          'Bottleneck and rate-limiter-flexible keep the jobs in the process, so they have no place here.',
          `"over ${SECONDS_ALLOWED} s": given up after so long.`,
        ],
      },
    ]
  },
}

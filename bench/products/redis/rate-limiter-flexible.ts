import { Redis } from 'ioredis'
import { RateLimiterQueue, RateLimiterRedis } from 'rate-limiter-flexible'
import type { Pace } from '../product.ts'
import type { RedisProduct } from './product.ts'

/** Its counts are in Redis, by whole seconds; the jobs stay in the process that asks. */
export const rateLimiterFlexible: RedisProduct = {
  name: 'rate-limiter-flexible',
  setting: (pace) => `Queue over Redis, points ${perSecond(pace)}, duration 1`,

  async produce({ socket, pace }, start) {
    const storeClient = new Redis(socket)
    const queue = new RateLimiterQueue(
      new RateLimiterRedis({ storeClient, points: perSecond(pace), duration: 1 }),
    )
    return {
      // It says nothing before a job may start.
      enqueue: (key, data) => queue.removeTokens(1, key).then(() => start(key, data)),
    }
  },
}

function perSecond({ count, periodMs }: Pace): number {
  return (count * 1_000) / periodMs
}

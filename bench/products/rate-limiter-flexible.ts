import { RateLimiterMemory, RateLimiterQueue } from 'rate-limiter-flexible'
import type { Product } from './product.ts'

export const rateLimiterFlexible: Product = {
  name: 'rate-limiter-flexible',
  setting: ({ count, periodMs }) => `Queue over Memory, points ${count}, duration ${periodMs / 1_000}`,

  open(pace, start) {
    const queue = new RateLimiterQueue(
      new RateLimiterMemory({ points: pace.count, duration: pace.periodMs / 1_000 }),
    )
    return (key, data) => {
      void queue.removeTokens(1, key).then(() => start(key, data))
      return undefined
    }
  },
}

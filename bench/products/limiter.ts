import { RateLimiter } from 'limiter'
import { type Product, perKey } from './product.ts'

export const limiter: Product = {
  name: 'limiter',
  setting: ({ count, periodMs }) => `tokensPerInterval ${count}, interval ${periodMs}`,

  open(pace, start) {
    const lines = perKey(() => new RateLimiter({ tokensPerInterval: pace.count, interval: pace.periodMs }))
    return (key, data) => {
      void lines(key)
        .removeTokens(1)
        .then(() => start(key, data))
      return undefined
    }
  },
}

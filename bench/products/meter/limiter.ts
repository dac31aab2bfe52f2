import { RateLimiter, TokenBucket } from 'limiter'
import { type Pace, perKey } from '../product.ts'
import type { MeterProduct } from './product.ts'

/** It has no keys: a Map of one object for each, as its users write it. It answers without a promise. */
export const limiter: MeterProduct = {
  name: 'limiter',
  setting: (pace) =>
    pace.capacity === undefined
      ? `RateLimiter, tokensPerInterval ${pace.count}, interval ${pace.periodMs}`
      : `TokenBucket, bucketSize ${pace.capacity}, tokensPerInterval ${pace.count}, interval ${pace.periodMs}`,

  async open({ pace }) {
    const meters = perKey(() => openOne(pace))
    return (key, amount) => {
      const one = meters(key)
      if (one.tryRemoveTokens(amount)) return 0
      return Math.max(1, one.getWaitTime(amount))
    }
  },
}

/** Its RateLimiter holds as many as one interval gives; only the bucket can be told another capacity. */
function openOne({ count, periodMs, capacity }: Pace): RateLimiter | TokenBucket {
  if (capacity === undefined) return new RateLimiter({ tokensPerInterval: count, interval: periodMs })
  const bucket = new TokenBucket({ bucketSize: capacity, tokensPerInterval: count, interval: periodMs })
  bucket.content = capacity
  return bucket
}

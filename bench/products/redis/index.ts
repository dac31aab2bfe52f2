import type { RedisProduct } from './product.ts'

/** Loaded by name, so that a process that measures one product holds no other. */
const LOADERS = {
  'velvet-rope': async () => (await import('./velvet-rope.ts')).velvetRope,
  'bullmq-per-key': async () => (await import('./bullmq.ts')).bullmqPerKey,
  'bullmq-limited': async () => (await import('./bullmq.ts')).bullmqLimited,
  'bullmq-unshaped': async () => (await import('./bullmq.ts')).bullmqUnshaped,
  bottleneck: async () => (await import('./bottleneck.ts')).bottleneck,
  'rate-limiter-flexible': async () => (await import('./rate-limiter-flexible.ts')).rateLimiterFlexible,
  'bare-rpush': async () => (await import('./bare-rpush.ts')).bareRpush,
}

export type RedisProductName = keyof typeof LOADERS

export const REDIS_PACKAGES = ['bullmq', 'ioredis', 'bottleneck', 'rate-limiter-flexible'] as const

export function loadRedisProduct(name: RedisProductName): Promise<RedisProduct> {
  return LOADERS[name]()
}

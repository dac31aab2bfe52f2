import type { ServerName } from '../../servers.ts'
import type { MeterProduct } from './product.ts'

/** Loaded by name, so that a process that measures one product holds no other. */
const LOADERS = {
  'rope-in-memory': async () => (await import('./velvet-rope.ts')).ropeInMemory,
  'flexible-in-memory': async () => (await import('./rate-limiter-flexible.ts')).flexibleInMemory,
  'limiter-in-memory': async () => (await import('./limiter.ts')).limiter,
  'rope-on-redis': async () => (await import('./velvet-rope.ts')).ropeOnRedis,
  'flexible-on-redis': async () => (await import('./rate-limiter-flexible.ts')).flexibleOnRedis,
  'flexible-on-redis-blocking': async () =>
    (await import('./rate-limiter-flexible.ts')).flexibleOnRedisBlocking,
  'rope-on-postgres': async () => (await import('./velvet-rope.ts')).ropeOnPostgres,
  'flexible-on-postgres': async () => (await import('./rate-limiter-flexible.ts')).flexibleOnPostgres,
  'flexible-on-postgres-blocking': async () =>
    (await import('./rate-limiter-flexible.ts')).flexibleOnPostgresBlocking,
}

export type MeterProductName = keyof typeof LOADERS

export const METER_PACKAGES = ['rate-limiter-flexible', 'limiter', 'ioredis', 'pg'] as const

export function loadMeter(name: MeterProductName): Promise<MeterProduct> {
  return LOADERS[name]()
}

/** Where its levels or counts are. */
export function meterServer(name: MeterProductName): ServerName | undefined {
  if (name.includes('-on-redis')) return 'redis'
  return name.includes('-on-postgres') ? 'postgres' : undefined
}

import { HTTP_PACKAGES, type HttpProductName, loadHttpProduct } from '../products/http/index.ts'
import { loadProduct, PEERS, type ProductName } from '../products/index.ts'
import { loadMeter, METER_PACKAGES, type MeterProductName, meterServer } from '../products/meter/index.ts'
import type { Pace } from '../products/product.ts'
import { loadRedisProduct, REDIS_PACKAGES, type RedisProductName } from '../products/redis/index.ts'
import type { ServerName } from '../servers.ts'
import { bucketPages } from './buckets/pages.ts'
import { openPage, type PageProductName } from './dashboard/open-page.ts'
import { growth } from './growth.ts'
import { httpEnqueue } from './http/enqueue.ts'
import { httpOverload } from './http/overload.ts'
import { idle } from './idle.ts'
import { lag } from './lag.ts'
import { memory } from './memory.ts'
import { METER_SCENARIOS } from './meter/index.ts'
import { redisCommands } from './redis/commands.ts'
import { redisDelays } from './redis/delays.ts'
import { redisEndToEnd } from './redis/end-to-end.ts'
import { redisEnqueue } from './redis/enqueue.ts'
import { redisGrowth } from './redis/growth.ts'
import { redisIdle } from './redis/idle.ts'
import { redisLag } from './redis/lag.ts'
import { redisMemory } from './redis/memory.ts'
import { redisSmoothnessCold } from './redis/smoothness-cold.ts'
import { redisSmoothnessManyKeys } from './redis/smoothness-many-keys.ts'
import { redisSmoothnessOneKey } from './redis/smoothness-one-key.ts'
import type { Scenario } from './scenario.ts'
import { smoothnessCold } from './smoothness-cold.ts'
import { smoothnessManyKeys } from './smoothness-many-keys.ts'
import { smoothnessOneKey } from './smoothness-one-key.ts'
import { throughput } from './throughput.ts'

/** The scenarios whose products keep their lines in one place. Each part can be run and published by itself. */
export interface Part<Name extends string = string> {
  readonly name: 'memory' | 'redis' | 'buckets' | 'dashboard' | 'http' | 'meter'
  readonly scenarios: readonly Scenario<Name>[]
  /** Whose starts are drawn; absent: nothing is. */
  readonly picture?: string
  /** Packages whose versions belong to the figures. */
  readonly packages: readonly string[]
  /** What a product needs a server of its own for. */
  serverOf(product: Name): ServerName | undefined
  load(product: Name): Promise<{ readonly name: string; setting(pace: Pace): string }>
}

const memoryPart: Part<ProductName> = {
  name: 'memory',
  serverOf: () => undefined,
  scenarios: [smoothnessOneKey, smoothnessCold, smoothnessManyKeys, lag, throughput, memory, growth, idle],
  picture: smoothnessOneKey.name,
  packages: PEERS,
  load: loadProduct,
}

const redisPart: Part<RedisProductName> = {
  name: 'redis',
  serverOf: () => 'redis',
  scenarios: [
    redisSmoothnessOneKey,
    redisSmoothnessCold,
    redisSmoothnessManyKeys,
    redisLag,
    redisDelays,
    redisEnqueue,
    redisEndToEnd,
    redisMemory,
    redisCommands,
    redisIdle,
    redisGrowth,
  ],
  picture: redisSmoothnessOneKey.name,
  packages: REDIS_PACKAGES,
  load: loadRedisProduct,
}

const bucketsPart: Part<RedisProductName> = {
  name: 'buckets',
  serverOf: () => 'redis',
  scenarios: [bucketPages],
  packages: ['ioredis'],
  load: loadRedisProduct,
}

const dashboardPart: Part<PageProductName> = {
  name: 'dashboard',
  serverOf: (product) => (product === 'redis' ? 'redis' : undefined),
  scenarios: [openPage],
  packages: ['playwright-core', 'ioredis'],
  load: async (product) => ({
    name: product,
    setting: ({ count, periodMs }) => `limit '20, ${count} per ${periodMs}ms'`,
  }),
}

const httpPart: Part<HttpProductName> = {
  name: 'http',
  serverOf: () => 'redis',
  scenarios: [httpEnqueue, httpOverload],
  packages: HTTP_PACKAGES,
  load: loadHttpProduct,
}

const meterPart: Part<MeterProductName> = {
  name: 'meter',
  serverOf: meterServer,
  scenarios: METER_SCENARIOS,
  packages: METER_PACKAGES,
  load: loadMeter,
}

export const PARTS: readonly Part[] = [memoryPart, redisPart, bucketsPart, dashboardPart, httpPart, meterPart]

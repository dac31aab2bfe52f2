import { HTTP_PACKAGES, type HttpProductName, loadHttpProduct } from '../products/http/index.ts'
import { loadProduct, PEERS, type ProductName } from '../products/index.ts'
import type { Pace } from '../products/product.ts'
import { loadRedisProduct, REDIS_PACKAGES, type RedisProductName } from '../products/redis/index.ts'
import { growth } from './growth.ts'
import { httpEnqueue } from './http/enqueue.ts'
import { httpOverload } from './http/overload.ts'
import { idle } from './idle.ts'
import { memory } from './memory.ts'
import { redisCommands } from './redis/commands.ts'
import { redisEndToEnd } from './redis/end-to-end.ts'
import { redisEnqueue } from './redis/enqueue.ts'
import { redisGrowth } from './redis/growth.ts'
import { redisIdle } from './redis/idle.ts'
import { redisMemory } from './redis/memory.ts'
import { redisSmoothnessManyKeys } from './redis/smoothness-many-keys.ts'
import { redisSmoothnessOneKey } from './redis/smoothness-one-key.ts'
import type { Scenario } from './scenario.ts'
import { smoothnessManyKeys } from './smoothness-many-keys.ts'
import { smoothnessOneKey } from './smoothness-one-key.ts'
import { throughput } from './throughput.ts'

/** The scenarios whose products keep their lines in one place. Each part can be run and published by itself. */
export interface Part<Name extends string = string> {
  readonly name: 'memory' | 'redis' | 'http'
  readonly needsRedis: boolean
  readonly scenarios: readonly Scenario<Name>[]
  /** Whose starts are drawn; absent: nothing is. */
  readonly picture?: string
  /** Packages whose versions belong to the figures. */
  readonly packages: readonly string[]
  load(product: Name): Promise<{ readonly name: string; setting(pace: Pace): string }>
}

const memoryPart: Part<ProductName> = {
  name: 'memory',
  needsRedis: false,
  scenarios: [smoothnessOneKey, smoothnessManyKeys, throughput, memory, growth, idle],
  picture: smoothnessOneKey.name,
  packages: PEERS,
  load: loadProduct,
}

const redisPart: Part<RedisProductName> = {
  name: 'redis',
  needsRedis: true,
  scenarios: [
    redisSmoothnessOneKey,
    redisSmoothnessManyKeys,
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

const httpPart: Part<HttpProductName> = {
  name: 'http',
  needsRedis: true,
  scenarios: [httpEnqueue, httpOverload],
  packages: HTTP_PACKAGES,
  load: loadHttpProduct,
}

export const PARTS: readonly Part[] = [memoryPart, redisPart, httpPart]

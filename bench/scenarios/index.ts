import { loadProduct, PEERS, type ProductName } from '../products/index.ts'
import type { Pace } from '../products/product.ts'
import { loadRedisProduct, REDIS_PACKAGES, type RedisProductName } from '../products/redis/index.ts'
import { growth } from './growth.ts'
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

/** The scenarios whose products keep their lines in one place. Each half can be run and published by itself. */
export interface Half<Name extends string = string> {
  readonly name: 'memory' | 'redis'
  readonly needsRedis: boolean
  readonly scenarios: readonly Scenario<Name>[]
  /** Whose starts are drawn. */
  readonly picture: string
  /** Packages whose versions belong to the figures. */
  readonly packages: readonly string[]
  load(product: Name): Promise<{ readonly name: string; setting(pace: Pace): string }>
}

const memoryHalf: Half<ProductName> = {
  name: 'memory',
  needsRedis: false,
  scenarios: [smoothnessOneKey, smoothnessManyKeys, throughput, memory, growth, idle],
  picture: smoothnessOneKey.name,
  packages: PEERS,
  load: loadProduct,
}

const redisHalf: Half<RedisProductName> = {
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

export const HALVES: readonly Half[] = [memoryHalf, redisHalf]

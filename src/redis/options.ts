import { z } from 'zod'
import type { ConnectionInput } from './connection/connection-input.ts'

/** What a line on Redis is opened with, beside what every line is. */
export const redisOptionsSchema = z.strictObject({
  /** A Redis URL, ioredis options, or an ioredis Redis or Cluster. */
  connection: z.custom<ConnectionInput>(),
  /** With a connection: begins every key of Redis, so that several products can share one. Default: `vr`. */
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, _ and -, 1 to 64 of them')
    .default('vr'),
  /**
   * With a connection: over how many slots of a Redis Cluster the lines are spread; every process must say the same, and is refused otherwise.
   * Default: 1.
   */
  shards: z.int().min(1).max(256).default(1),
  /**
   * With a connection: how long before its slot a job is handed to a worker, 1 to 10,000. Default: it follows the time
   * that handing over takes.
   */
  lookAheadMs: z.number().min(1).max(10_000).optional(),
})

export type RedisSettings = Readonly<z.output<typeof redisOptionsSchema>>

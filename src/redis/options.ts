import { z } from 'zod'
import type { ConnectionInput } from './connection/connection-input.ts'

/** The options of a line on Redis beside those of every line. */
export const redisOptionsSchema = z.strictObject({
  /** A Redis URL, ioredis options, or an ioredis Redis or Cluster. */
  connection: z.custom<ConnectionInput>(),
  /** With a connection: the prefix of every key in Redis, so that several products can share one Redis. Default: `vr`. */
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, _ and -, 1 to 64 of them')
    .default('vr'),
  /**
   * With a connection: the number of slots of a Redis Cluster over which the lines are spread. All processes must use the same
   * number; one with another is refused. Default: 1.
   */
  shards: z.int().min(1).max(256).default(1),
  /**
   * With a connection: how long before its slot a job is handed over to a worker, 1 to 10,000. Default: it follows the time that
   * handing over takes.
   */
  lookAheadMs: z.number().min(1).max(10_000).optional(),
})

export type RedisSettings = Readonly<z.output<typeof redisOptionsSchema>>

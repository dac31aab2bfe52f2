import { z } from 'zod'
import { InvalidOptionsError } from '../src/core/errors.ts'
import { parseOptions } from '../src/core/options.ts'
import type { ModuleWorkerOptions } from './module.ts'
import { checkRedisUrl } from './redis-url.ts'
import { DEFAULT_DRAIN_MS } from './termination.ts'

const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number)
  .optional()

/** What a worker reads from its environment. */
const environmentSchema = z.strictObject({
  /** The Redis of the shared line. */
  REDIS_URL: z.string().optional(),
  /** The name of the shaper. */
  VELVET_ROPE_NAME: z.string(),
  /** The limit of every key: `100, 10/s`. */
  VELVET_ROPE_LIMIT: z.string(),
  VELVET_ROPE_PREFIX: z.string().optional(),
  VELVET_ROPE_SHARDS: wholeNumber,
  VELVET_ROPE_CONCURRENCY: wholeNumber,
  VELVET_ROPE_LEASE_MS: wholeNumber,
  VELVET_ROPE_DRAIN_MS: wholeNumber.default(DEFAULT_DRAIN_MS),
})

/** @throws InvalidOptionsError naming the variable; an empty one counts as absent */
export function readEnvironment(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ModuleWorkerOptions {
  const [file, ...more] = args
  if (file === undefined || more.length > 0) {
    throw new InvalidOptionsError(
      'expected one handler file, such as node dist/workers/module.js ./handler.js; the rest comes from ' +
        `${Object.keys(environmentSchema.shape).join(', ')}`,
    )
  }
  const known = Object.keys(environmentSchema.shape).map((name) => [name, env[name] || undefined] as const)
  const read = parseOptions(environmentSchema, Object.fromEntries(known), 'environment')
  return {
    file,
    name: read.VELVET_ROPE_NAME,
    shaper: {
      limits: { '*': read.VELVET_ROPE_LIMIT },
      connection: checkRedisUrl(read.REDIS_URL, 'REDIS_URL'),
      prefix: read.VELVET_ROPE_PREFIX,
      shards: read.VELVET_ROPE_SHARDS,
    },
    work: { concurrency: read.VELVET_ROPE_CONCURRENCY, leaseMs: read.VELVET_ROPE_LEASE_MS },
    drainMs: read.VELVET_ROPE_DRAIN_MS,
  }
}

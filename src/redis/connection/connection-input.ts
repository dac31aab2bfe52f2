import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { z } from 'zod'
import { describe } from '../../core/describe.ts'
import { InvalidOptionsError } from '../../core/errors.ts'
import { readConnectionUrl } from './connection-url.ts'

/**
 * Where Redis is: a URL (`redis://`, `rediss://`, `unix://`), the path of its socket, options of ioredis, or a client of
 * ioredis of any major version, which is only duplicated: never used, changed or closed.
 */
export type ConnectionInput = string | RedisOptions | ClientLike

/** What every client of ioredis has. */
export interface ClientLike {
  defineCommand(name: string, definition: { lua: string; numberOfKeys?: number }): unknown
  duplicate(...overrides: never[]): unknown
}

/** What clients are made from. */
export type Origin =
  | { readonly kind: 'options'; readonly options: RedisOptions }
  | { readonly kind: 'redis'; readonly client: Redis }
  | { readonly kind: 'cluster'; readonly client: Cluster }

/**
 * The option `connection`. Its parser throws by itself, because the usual message would show the value, and with it a
 * password.
 */
export const connectionSchema = z.custom<ConnectionInput>().transform(parseConnection)

/** @throws InvalidOptionsError that never shows a password */
export function parseConnection(input: unknown): Origin {
  if (typeof input === 'string') return { kind: 'options', options: readConnectionUrl(input) }
  if (isCluster(input)) {
    refuseKeyPrefix(input.options?.keyPrefix ?? input.options?.redisOptions?.keyPrefix)
    return { kind: 'cluster', client: input }
  }
  if (isRedis(input)) {
    refuseKeyPrefix(input.options?.keyPrefix)
    return { kind: 'redis', client: input }
  }
  if (isPlainObject(input)) return { kind: 'options', options: parseOptionsOfIoredis(input) }
  throw new InvalidOptionsError(
    `connection: expected a Redis URL, the options of ioredis, or an ioredis Redis or Cluster, got: ${describe(input)}`,
  )
}

/** The fields in which a mistake would show late or not at all; ioredis knows many more. */
const optionsSchema = z.looseObject({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  path: z.string().min(1).nullish(),
  db: z.int().min(0).optional(),
  username: z.string().nullish(),
  password: z.string().nullish(),
})

function parseOptionsOfIoredis(input: RedisOptions): RedisOptions {
  const result = optionsSchema.safeParse(input)
  if (!result.success) {
    const [issue] = result.error.issues
    throw new InvalidOptionsError(`connection: ${issue!.path.join('.')}: ${issue!.message}`)
  }
  refuseKeyPrefix(input.keyPrefix)
  return input
}

/** BullMQ refuses a key prefix, and its keys would not lie beside those of the line. */
function refuseKeyPrefix(keyPrefix: unknown): void {
  if (keyPrefix === undefined || keyPrefix === null || keyPrefix === '') return
  throw new InvalidOptionsError(
    `connection: expected no keyPrefix (the option prefix of the shaper does that), got: ${describe(keyPrefix)}`,
  )
}

function isCluster(input: unknown): input is Cluster {
  return isClient(input) && 'isCluster' in input && input.isCluster === true
}

function isRedis(input: unknown): input is Redis {
  return isClient(input) && !isCluster(input)
}

function isClient(input: unknown): input is ClientLike {
  return (
    typeof input === 'object' &&
    input !== null &&
    'defineCommand' in input &&
    typeof input.defineCommand === 'function' &&
    'duplicate' in input &&
    typeof input.duplicate === 'function'
  )
}

function isPlainObject(input: unknown): input is RedisOptions {
  if (typeof input !== 'object' || input === null) return false
  const prototype: unknown = Object.getPrototypeOf(input)
  return prototype === Object.prototype || prototype === null
}

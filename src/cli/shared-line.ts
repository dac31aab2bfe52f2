import type { Command } from 'commander'
import { checkRedisUrl } from '../../workers/redis-url.ts'
import { formatLimit } from '../core/limit.ts'
import type { ShaperOptions } from '../shaper/options.ts'
import { type LimitFlags, readLimits } from './limits-file.ts'

/** Flags that say which line many processes share. */
export interface LineFlags extends LimitFlags {
  readonly redis?: string
  readonly name: string
  readonly shards?: number
  readonly prefix?: string
}

/** A line that many processes share, in a Redis. */
type SharedLineOptions = ShaperOptions & { readonly connection: string }

/** The limits that a process brings to its line. */
export function addLimitOptions(command: Command): Command {
  return command
    .option('-l, --limit <limit>', "capacity and rate of every key, such as '100, 10/s'")
    .option('--limits <file>', 'limits by pattern, as JSON: { "<pattern>": "<capacity>, <rate>" }')
}

/** @throws InvalidOptionsError, InvalidLimitError or InvalidInputError */
export async function readLineOptions(flags: LineFlags): Promise<SharedLineOptions> {
  const connection = checkRedisUrl(flags.redis, '--redis, or REDIS_URL in the environment,')
  const rules = (await readLimits(flags)).list()
  const limits = Object.fromEntries(rules.map(({ pattern, limit }) => [pattern, formatLimit(limit)]))
  return { limits, connection, prefix: flags.prefix, shards: flags.shards }
}

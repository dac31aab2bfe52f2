import { type Command, Option } from 'commander'
import type { ConfigSources } from '../config/load-config.ts'
import { formatLimit } from '../core/limit-format.ts'
import { type LimitFlags, readLimits } from './limits-file.ts'
import { wholeNumber } from './numbers.ts'

/** Flags of a process with a configuration. Flags override the environment, which overrides the file. */
export interface ServiceFlags extends LimitFlags {
  readonly config?: string
  readonly redis?: string
  readonly name?: string
  readonly prefix?: string
  readonly shards?: number
  readonly allow?: readonly string[]
  readonly concurrency?: number
  readonly lease?: number
  /** Commander sets it to true without `--no-scheduler`. */
  readonly scheduler?: boolean
  readonly drainMs?: number
  readonly logLevel?: string
  readonly listen?: string
  readonly record?: string
}

const DAY_MS = 86_400_000

export function addServiceOptions(command: Command): Command {
  return command
    .option('-c, --config <file>', 'the configuration file; default: velvet-rope.yaml, if it exists')
    .option('--redis <url>', 'the Redis that keeps the line')
    .option('--name <name>', 'the name of the shaper, the same in every process')
    .option('-l, --limit <limit>', "capacity and rate of every key, such as '100, 10/s'")
    .option('--limits <file>', 'limits by pattern, as JSON: { "<pattern>": "<capacity>, <rate>" }')
    .option('--shards <n>', 'the number of shards of the shaper', wholeNumber(1, 256))
    .option('--prefix <text>', "the prefix of the shaper's keys in Redis")
    .option('--allow <origin...>', 'origins that jobs may call, such as https://api.stripe.com')
    .option('--concurrency <n>', 'the most handlers that run at once', wholeNumber(1, 1_000_000))
    .option(
      '--lease <ms>',
      'how long a worker may be silent before its jobs go to another worker',
      wholeNumber(500, 600_000),
    )
    .option('--no-scheduler', 'never hand jobs over to workers; other processes do')
    .option(
      '--drain-ms <ms>',
      'how long running handlers may take to finish at shutdown',
      wholeNumber(0, DAY_MS),
    )
    .addOption(
      new Option('--log-level <level>', 'the least level to log').choices([
        'debug',
        'info',
        'warn',
        'error',
        'silent',
      ]),
    )
}

/** @throws InvalidInputError for an invalid file of limits */
export async function readSources(flags: ServiceFlags, env = process.env): Promise<ConfigSources> {
  const { config, lease, limit, limits, scheduler, ...same } = flags
  return {
    file: config,
    env,
    flags: {
      ...(scheduler === false && { scheduler }),
      ...same,
      limit,
      leaseMs: lease,
      limits: limits === undefined ? undefined : await limitsOf(limits),
    },
  }
}

async function limitsOf(file: string): Promise<Readonly<Record<string, string>>> {
  const rules = (await readLimits({ limits: file })).list()
  return Object.fromEntries(rules.map(({ pattern, limit }) => [pattern, formatLimit(limit)]))
}

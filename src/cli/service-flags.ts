import { type Command, Option } from 'commander'
import type { ConfigSources } from '../config/load-config.ts'
import { formatLimit } from '../core/limit.ts'
import { type LimitFlags, readLimits } from './limits-file.ts'
import { wholeNumber } from './numbers.ts'

/** Flags of a process that reads a configuration. Each goes before the environment, and that before the file. */
export interface ServiceFlags extends LimitFlags {
  readonly config?: string
  readonly redis?: string
  readonly name?: string
  readonly prefix?: string
  readonly shards?: number
  readonly allow?: readonly string[]
  readonly concurrency?: number
  readonly lease?: number
  /** Commander makes it true where nobody says otherwise. */
  readonly scheduler?: boolean
  readonly drainMs?: number
  readonly logLevel?: string
  readonly listen?: string
  readonly record?: string
}

const DAY_MS = 86_400_000

export function addServiceOptions(command: Command): Command {
  return command
    .option('-c, --config <file>', 'the configuration; default: velvet-rope.yaml, if there is one')
    .option('--redis <url>', 'the Redis that keeps the line')
    .option('--name <name>', 'the shaper, as every process calls it')
    .option('-l, --limit <limit>', "capacity and rate of every key, such as '100, 10/s'")
    .option('--limits <file>', 'limits by pattern, as JSON: { "<pattern>": "<capacity>, <rate>" }')
    .option('--shards <n>', 'how many shards the shaper has', wholeNumber(1, 256))
    .option('--prefix <text>', "what the shaper's names in Redis begin with")
    .option('--allow <origin...>', 'what jobs may call, such as https://api.stripe.com')
    .option('--concurrency <n>', 'handlers that run at once', wholeNumber(1, 1_000_000))
    .option(
      '--lease <ms>',
      'after so long without a sign of life, a job is given to another worker',
      wholeNumber(500, 600_000),
    )
    .option('--no-scheduler', 'never hand jobs over to workers: others do')
    .option('--drain-ms <ms>', 'how long handlers that run may take to end', wholeNumber(0, DAY_MS))
    .addOption(
      new Option('--log-level <level>', 'how much is logged').choices([
        'debug',
        'info',
        'warn',
        'error',
        'silent',
      ]),
    )
}

/** @throws InvalidInputError for a file of limits that cannot be understood */
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

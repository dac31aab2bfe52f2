import { type Command, Option } from 'commander'
import { InvalidOptionsError } from '../core/errors.ts'
import { checkApiUrl, checkToken } from './api-address.ts'
import { ApiClient } from './api-client.ts'
import { wholeNumber } from './numbers.ts'
import type { LineFlags } from './shared-line.ts'

/** Flags that say where a line is: at a running service, or in a Redis. */
export interface PlaceFlags extends Omit<LineFlags, 'name'> {
  readonly name?: string
  readonly url?: string
  readonly token?: string
}

/** What only a line in Redis takes. */
const LINE_ONLY = ['redis', 'name', 'limit', 'limits', 'shards', 'prefix'] as const

/** `--url` and `--token`, or `--redis`, `--name`, `--shards` and `--prefix`. */
export function addPlaceOptions(command: Command): Command {
  return command
    .option('--url <url>', 'a running service, such as http://127.0.0.1:7077; instead of --redis')
    .addOption(new Option('--redis <url>', 'the Redis that keeps the line').env('REDIS_URL'))
    .addOption(new Option('--name <name>', 'the shaper, as every process calls it').env('VELVET_ROPE_NAME'))
    .option('--shards <n>', 'how many shards the shaper has', wholeNumber(1, 256))
    .option('--prefix <text>', "what the shaper's names in Redis begin with")
    .addOption(new Option('--token <token>', 'what the service knows us by').env('VELVET_ROPE_TOKEN'))
}

/**
 * The service of `--url`; undefined without it.
 *
 * @throws InvalidOptionsError when a flag beside it is for a line in Redis; what the environment says is not meant
 */
export function openService(flags: PlaceFlags, command: Command): ApiClient | undefined {
  const isGiven = (flag: string) => command.getOptionValueSource(flag) === 'cli'
  if (flags.url === undefined) {
    if (isGiven('token')) throw new InvalidOptionsError('expected --url beside --token, got: none')
    return undefined
  }
  const other = LINE_ONLY.find(isGiven)
  if (other !== undefined) {
    throw new InvalidOptionsError(`expected --url or --${other}, got both: a service knows its own line`)
  }
  const { token } = flags
  // An empty variable counts as none.
  const hasToken = token !== undefined && token !== ''
  return new ApiClient({ url: checkApiUrl(flags.url), token: hasToken ? checkToken(token) : undefined })
}

/** @throws InvalidOptionsError when no name is given, by flag or environment */
export function checkLineName<Flags extends PlaceFlags>(flags: Flags): Flags & { readonly name: string } {
  const { name } = flags
  if (name !== undefined && name !== '') return { ...flags, name }
  throw new InvalidOptionsError(
    'expected --name, or VELVET_ROPE_NAME in the environment, for a line in Redis, or --url for a service, got: neither',
  )
}

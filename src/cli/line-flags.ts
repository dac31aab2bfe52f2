import { type Command, Option } from 'commander'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { formatLimit } from '../core/limit-format.ts'
import { parseUrl } from '../core/url.ts'
import type { ShaperOptions } from '../shaper/options.ts'
import { ApiClient } from './api/client.ts'
import { type LimitFlags, readLimits } from './limits-file.ts'
import { wholeNumber } from './numbers.ts'
import { checkRedisUrl } from './redis-url.ts'

/** Flags that say where a line is: at a running service, or in a Redis. */
export interface LineFlags extends LimitFlags {
  readonly url?: string
  readonly token?: string
  readonly redis?: string
  readonly name?: string
  readonly shards?: number
  readonly prefix?: string
}

type NamedLineFlags = LineFlags & { readonly name: string }

/** Flags that apply only to a line in Redis. */
const REDIS_ONLY = ['redis', 'name', 'limit', 'limits', 'shards', 'prefix'] as const

/** RFC 6750: the characters of a bearer token. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/

/** Adds `--url` and `--token`, and `--redis`, `--name`, `--shards` and `--prefix`. */
export function addLineOptions(command: Command): Command {
  return command
    .option('--url <url>', 'a running service, such as http://127.0.0.1:7077; instead of --redis')
    .addOption(new Option('--redis <url>', 'the Redis that keeps the line').env('REDIS_URL'))
    .addOption(
      new Option('--name <name>', 'the name of the shaper, the same in every process').env(
        'VELVET_ROPE_NAME',
      ),
    )
    .option('--shards <n>', 'the number of shards of the shaper', wholeNumber(1, 256))
    .option('--prefix <text>', "the prefix of the shaper's keys in Redis")
    .addOption(new Option('--token <token>', 'the access token for the service').env('VELVET_ROPE_TOKEN'))
}

/** Adds the flags for the limits that a process brings along. */
export function addLimitOptions(command: Command): Command {
  return command
    .option('-l, --limit <limit>', "capacity and rate of every key, such as '100, 10/s'")
    .option('--limits <file>', 'limits by pattern, as JSON: { "<pattern>": "<capacity>, <rate>" }')
}

/**
 * Opens a client of the service at `--url`. Returns undefined without `--url`.
 *
 * @throws InvalidOptionsError when a flag for a line in Redis was given as well; environment variables do not count
 */
export function openService(flags: LineFlags, command: Command): ApiClient | undefined {
  const isGiven = (flag: string) => command.getOptionValueSource(flag) === 'cli'
  if (flags.url === undefined) {
    if (isGiven('token')) throw new InvalidOptionsError('expected --url together with --token, got: none')
    return undefined
  }
  const other = REDIS_ONLY.find(isGiven)
  if (other !== undefined) {
    throw new InvalidOptionsError(`expected --url or --${other}, got both: a service knows its own line`)
  }
  const { token } = flags
  // An empty variable counts as none.
  const hasToken = token !== undefined && token !== ''
  return new ApiClient({ url: checkApiUrl(flags.url), token: hasToken ? checkToken(token) : undefined })
}

/** @throws InvalidOptionsError when no name is given, by flag or environment */
export function checkLineName<Flags extends LineFlags>(flags: Flags): Flags & NamedLineFlags {
  const { name } = flags
  if (name !== undefined && name !== '') return { ...flags, name }
  throw new InvalidOptionsError(
    'expected --name, or VELVET_ROPE_NAME in the environment, for a line in Redis, or --url for a service, got: neither',
  )
}

/**
 * Reads the options of a shaper on Redis, limits included.
 *
 * @throws InvalidOptionsError, InvalidLimitError or InvalidInputError
 */
export async function readShaperOptions(
  flags: NamedLineFlags,
): Promise<ShaperOptions & { readonly connection: string }> {
  const connection = checkRedisUrl(flags.redis, '--redis, or REDIS_URL in the environment,')
  const rules = (await readLimits(flags)).list()
  const limits = Object.fromEntries(rules.map(({ pattern, limit }) => [pattern, formatLimit(limit)]))
  return { limits, connection, prefix: flags.prefix, shards: flags.shards }
}

/** Parses the address of a service; the result ends with `/`. @throws InvalidOptionsError, which never shows a password */
export function checkApiUrl(text: string): URL {
  const url = parseUrl(text)
  if (url === undefined) throw invalidUrl('text that is no URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalidUrl(`one that begins with ${quote(url.protocol.slice(0, -1))}`)
  }
  if (url.username !== '' || url.password !== '')
    throw invalidUrl('one with a user or a password; use --token')
  if (url.search !== '' || url.hash !== '') throw invalidUrl('one with ? or #')
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

/** @throws InvalidOptionsError, which does not show the token */
function checkToken(token: string): string {
  if (TOKEN.test(token)) return token
  throw new InvalidOptionsError(
    'expected --token, or VELVET_ROPE_TOKEN in the environment, to be a bearer token of letters, digits and -._~+/=, got: ' +
      `${token.length} characters, some of them not allowed`,
  )
}

function invalidUrl(got: string): InvalidOptionsError {
  return new InvalidOptionsError(
    `expected --url to be the address of a service, such as http://127.0.0.1:7077, got: ${got}`,
  )
}

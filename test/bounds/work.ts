import type { Redis } from 'ioredis'
import type { Script } from '../../src/redis/scripts/script.ts'
import { linesDuring, readLine } from './monitor.ts'

/** What one call of a script cost: commands with the entries that they looked at, or microseconds. */
export interface Cost {
  readonly verb: string
  readonly cost: number
}

/** Bytes: what its commands were given, and what they found in fields of hashes and in strings. */
export interface Work extends Cost {
  readonly bytes: number
  /** Those of what quotas count, which scripts unpack and pack. */
  readonly packed: number
}

type Scripts = ReadonlyMap<string, Pick<Script, 'sha'>>

interface Call {
  readonly sha: string
  readonly commands: string[][]
}

/** These look at all that a key holds, unless their arguments say otherwise. */
const WHOLE = new Set([
  'hgetall',
  'hkeys',
  'hvals',
  'smembers',
  'sort',
  'keys',
  'linsert',
  'sinter',
  'sunion',
])
const RANGES = new Set(['lrange', 'zrange', 'zrevrange'])
const BY_SCORE = new Set(['zrangebyscore', 'zrevrangebyscore', 'zrangebylex'])
const SEARCHES = new Set(['lrem', 'lpos'])

/** Watches each command that scripts of one server call. It slows the server: no time is taken meanwhile. */
export class EntryCounter {
  readonly #redis: Redis
  readonly #name: (sha: string, cost: number) => Cost[]

  /** @param redis a client of the server */
  constructor(redis: Redis, scripts: Scripts) {
    this.#redis = redis
    this.#name = namer(scripts)
  }

  /** The commands of each call of a script while `act` is under way, with the entries that they looked at. */
  async during(act: () => Promise<unknown>): Promise<Work[]> {
    const works: Work[] = []
    for (const { sha, commands } of callsIn(await linesDuring(this.#redis, act))) {
      // All questions at once: one after the other, most of the time would be their way.
      const costs = await Promise.all(commands.map((command) => entriesOf(this.#redis, command)))
      const bytes = await Promise.all(commands.map((command) => bytesOf(this.#redis, command)))
      const packed = bytes.filter((_, index) => commands[index]![1]?.endsWith(':quotas'))
      const moved = { bytes: sumOf(bytes), packed: sumOf(packed) }
      works.push(...this.#name(sha, sumOf(costs)).map((named) => ({ ...named, ...moved })))
    }
    return works
  }
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

/** The call of a script comes before what it calls. */
function callsIn(lines: readonly string[]): Call[] {
  const calls: Call[] = []
  for (const line of lines) {
    const { isOfScript, words } = readLine(line)
    if (isOfScript) calls.at(-1)?.commands.push(words)
    else if (words[0]?.toLowerCase() === 'evalsha') calls.push({ sha: words[1] ?? '', commands: [] })
  }
  return calls
}

/** The microseconds of each call of a script while `act` is under way, as a server with the settings `LOGS_CALLS` logs them. */
export async function timesDuring(
  redis: Redis,
  scripts: Scripts,
  act: () => Promise<unknown>,
): Promise<Cost[]> {
  const name = namer(scripts)
  await redis.call('SLOWLOG', 'RESET')
  await act()
  const logged = (await redis.call('SLOWLOG', 'GET', '-1')) as [number, number, number, string[]][]
  return logged.flatMap(([, , us, [command = '', sha = '']]) =>
    command.toLowerCase() === 'evalsha' ? name(sha, us) : [],
  )
}

function namer(scripts: Scripts) {
  const verbs = new Map([...scripts].map(([verb, { sha }]) => [sha, verb]))
  return (sha: string, cost: number): Cost[] => {
    const verb = verbs.get(sha)
    return verb === undefined ? [] : [{ verb, cost }]
  }
}

async function bytesOf(redis: Redis, [name = '', key = '', ...rest]: readonly string[]): Promise<number> {
  return sumOf(rest.map((word) => word.length)) + (await bytesFound(redis, name.toLowerCase(), key, rest))
}

async function bytesFound(redis: Redis, name: string, key: string, rest: readonly string[]): Promise<number> {
  if (name === 'hget') return redis.hstrlen(key, rest[0] ?? '')
  if (name === 'get') return redis.strlen(key)
  if (name === 'getrange') return Math.min(await redis.strlen(key), Number(rest[1]) - Number(rest[0]) + 1)
  return 0
}

/** What takes less than these microseconds is not logged: most commands that scripts call, which are logged like scripts. */
export const LOGGED = 20
/** The settings of a server on which time is counted. */
export const LOGS_CALLS = { 'slowlog-log-slower-than': `${LOGGED}`, 'slowlog-max-len': '100000' }

async function entriesOf(
  redis: Redis,
  [given = '', key = '', from, to, ...rest]: readonly string[],
): Promise<number> {
  const name = given.toLowerCase()
  if (RANGES.has(name)) {
    // From one end: both count from the first entry, or both from the last.
    const isCounted = Number(from) < 0 === Number(to) < 0
    return 1 + (isCounted ? Math.max(0, Number(to) - Number(from) + 1) : await sizeOf(redis, key))
  }
  if (BY_SCORE.has(name)) {
    const limit = rest.findIndex((word) => word.toLowerCase() === 'limit')
    return 1 + (limit === -1 ? await sizeOf(redis, key) : Number(rest[limit + 2]))
  }
  if (WHOLE.has(name) || SEARCHES.has(name)) return 1 + (await sizeOf(redis, key))
  if (name === 'hscan' || name === 'zscan' || name === 'sscan') return 1 + Number(rest.at(-1) ?? to ?? 10)
  return 1
}

/** How many entries a key holds now. */
async function sizeOf(redis: Redis, key: string): Promise<number> {
  switch (await redis.type(key)) {
    case 'list':
      return redis.llen(key)
    case 'zset':
      return redis.zcard(key)
    case 'hash':
      return redis.hlen(key)
    case 'set':
      return redis.scard(key)
    default:
      return 0
  }
}

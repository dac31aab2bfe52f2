import type { Redis } from 'ioredis'
import type { Script } from '../../src/redis/scripts/script.ts'

/** What one call of a script cost: commands with the entries that they looked at, or microseconds. */
export interface Cost {
  readonly verb: string
  readonly cost: number
}

/** Bytes: what its commands were given, and what they found in fields of hashes. */
export interface Work extends Cost {
  readonly bytes: number
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

/** What goes through a million buckets calls more commands than there is memory for. */
const MOST_CALLS = 200

/** Watches each command that scripts of one server call. It slows the server: no time is taken meanwhile. */
export class EntryCounter {
  readonly #redis: Redis
  readonly #monitor: Redis
  readonly #name: (sha: string, cost: number) => Cost[]
  #calls: Call[] = []
  #hear: (word: string) => void = () => undefined

  private constructor(redis: Redis, monitor: Redis, scripts: Scripts) {
    this.#redis = redis
    this.#monitor = monitor
    this.#name = namer(scripts)
    monitor.on('monitor', (_time: string, [name = '', first = '', ...rest]: string[], source: string) => {
      // The call of a script comes before what it calls.
      if (source === 'lua') this.#calls.at(-1)?.commands.push([name, first, ...rest])
      else if (name.toLowerCase() === 'evalsha') this.#hearCall(first)
      else this.#hear(first)
    })
  }

  /** Where a script is called many times, calls between the first and the last are forgotten. */
  #hearCall(sha: string): void {
    this.#calls.push({ sha, commands: [] })
    if (this.#calls.length > MOST_CALLS) this.#calls.splice(MOST_CALLS / 2, 1)
  }

  /** @param redis a client of its own */
  static async open(redis: Redis, scripts: Scripts): Promise<EntryCounter> {
    // What a client asks at first would be shown to itself.
    const settings = { lazyConnect: true, enableReadyCheck: false, disableClientInfo: true }
    return new EntryCounter(redis, await redis.duplicate(settings).monitor(), scripts)
  }

  /** The commands of each call of a script while `act` is under way, with the entries that they looked at. */
  async during(act: () => Promise<unknown>): Promise<Work[]> {
    this.#calls = []
    await act()
    const end = `end ${Math.random()}`
    const heard = new Promise<void>((resolve) => {
      this.#hear = (word) => {
        if (word === end) resolve()
      }
    })
    await this.#redis.echo(end)
    await heard
    const works: Work[] = []
    for (const { sha, commands } of this.#calls.splice(0)) {
      let [cost, bytes] = [0, 0]
      for (const command of commands) {
        cost += await entriesOf(this.#redis, command)
        bytes += await bytesOf(this.#redis, command)
      }
      works.push(...this.#name(sha, cost).map((named) => ({ ...named, bytes })))
    }
    return works
  }

  close(): void {
    this.#monitor.disconnect()
  }
}

/** The microseconds of each call of a script while `act` is under way, as a server with the settings `LOGS_EACH_CALL` logs them. */
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
  const found = name.toLowerCase() === 'hget' ? await redis.hstrlen(key, rest[0] ?? '') : 0
  return rest.reduce((bytes, word) => bytes + word.length, found)
}

/** The settings of a server on which time is counted. */
export const LOGS_EACH_CALL = { 'slowlog-log-slower-than': '0', 'slowlog-max-len': '100000' }

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

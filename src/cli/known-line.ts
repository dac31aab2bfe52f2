import { checkRedisUrl } from '../../workers/redis-url.ts'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import { Connection } from '../redis/connection/connection.ts'
import { parseConnection } from '../redis/connection/connection-input.ts'
import { shardKey, shardTags } from '../redis/scripts/keys.ts'
import { Store } from '../redis/scripts/store.ts'
import { checkName, shaperOptionsSchema } from '../shaper/options.ts'
import { Shaper } from '../shaper/shaper.ts'
import { checkLineName, type PlaceFlags } from './line-or-service.ts'

const MOST_SHARDS = 256

/**
 * A line in Redis that a producer or a worker has opened before, with as many shards as it has there. It brings no limits,
 * which would replace those in force. Whatever is asked of the line tells by
 * itself that Redis is away, so nobody listens for that.
 *
 * @throws InvalidOptionsError when there is none under this name, or BackendUnavailableError
 */
export async function openKnownLine(input: PlaceFlags): Promise<Shaper> {
  const { name, redis, shards } = checkLineName(input)
  const connection = checkRedisUrl(redis, '--redis, or REDIS_URL in the environment,')
  checkName(name)
  const { prefix } = parseOptions(
    shaperOptionsSchema.pick({ prefix: true }),
    { prefix: input.prefix },
    'the line',
  )
  const known = await readLine(name, connection, prefix)
  if (shards !== undefined && shards !== known.shards) {
    throw new InvalidOptionsError(`expected --shards ${known.shards}, as the line has, got: ${shards}`)
  }
  const shaper = new Shaper(name, { ...known, connection, prefix })
  return shaper.on('error', () => {})
}

/** A line of an older version does not say how many shards it has; each has a copy of the rule book, so they can be counted. */
async function readLine(name: string, url: string, prefix: string) {
  const connection = new Connection(parseConnection(url), () => undefined)
  try {
    await connection.ready()
    const tags = shardTags(prefix, name, MOST_SHARDS)
    const store = new Store(connection, tags, name)
    const bookOf = (shard: number) => store.text(shardKey(tags[shard]!, 'book'))
    const text = await bookOf(0)
    if (text !== undefined) {
      const said = await store.field(shardKey(tags[0]!, 'meta'), 'shards')
      let shards = Number(said ?? 1)
      while (said === undefined && shards < MOST_SHARDS && (await bookOf(shards)) !== undefined) shards++
      return { limits: {}, shards }
    }
  } finally {
    await connection.close()
  }
  throw new InvalidOptionsError(
    `expected a line that a producer or a worker has opened before, got: none by the name ${quote(name)} in this Redis`,
  )
}

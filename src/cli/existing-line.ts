import type { Command } from 'commander'
import { quote } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import { Connection } from '../redis/connection/connection.ts'
import { parseConnection } from '../redis/connection/connection-input.ts'
import { shardKey, shardTags } from '../redis/scripts/keys.ts'
import { Store } from '../redis/scripts/store.ts'
import { checkName, shaperOptionsSchema } from '../shaper/options.ts'
import { Shaper } from '../shaper/shaper.ts'
import type { ApiClient } from './api/client.ts'
import { checkLineName, type LineFlags, openService } from './line-flags.ts'
import { awaitAnswer } from './progress.ts'
import { checkRedisUrl } from './redis-url.ts'

const MOST_SHARDS = 256

type Line = ApiClient | Shaper

/** Opens the line of a service or in Redis, runs `work` on it and closes it again. */
export async function useLine<Answer>(
  flags: LineFlags,
  command: Command,
  work: (line: Line) => Promise<Answer>,
): Promise<Answer> {
  const line: Line = openService(flags, command) ?? (await awaitAnswer(openExistingLine(flags)))
  try {
    return await awaitAnswer(work(line))
  } finally {
    await line.close()
  }
}

/**
 * Opens a line in Redis that a producer or a worker has created before, with the number of shards that it has there.
 *
 * It opens without limits, which would replace those in force. Calls reject by themselves while Redis is down, so the
 * `error` event has an empty listener.
 *
 * @throws InvalidOptionsError when Redis has no line of this name, or BackendUnavailableError
 */
export async function openExistingLine(flags: LineFlags): Promise<Shaper> {
  const { name, redis, shards, prefix: givenPrefix } = checkLineName(flags)
  const connection = checkRedisUrl(redis, '--redis, or REDIS_URL in the environment,')
  checkName(name)
  const { prefix } = parseOptions(
    shaperOptionsSchema.pick({ prefix: true }),
    { prefix: givenPrefix },
    'the line',
  )
  const existing = await readLine(name, connection, prefix)
  if (shards !== undefined && shards !== existing.shards) {
    throw new InvalidOptionsError(`expected --shards ${existing.shards}, as the line has, got: ${shards}`)
  }
  const shaper = new Shaper(name, { ...existing, connection, prefix })
  return shaper.on('error', () => {})
}

/** A line of an older version does not store its number of shards, but each shard notes the version of its rule book. */
async function readLine(name: string, url: string, prefix: string) {
  const connection = new Connection(parseConnection(url), () => undefined)
  try {
    await connection.ready()
    const tags = shardTags(prefix, name, MOST_SHARDS)
    const store = new Store(connection, tags, name)
    const bookOf = (shard: number) => store.field(shardKey(tags[shard]!, 'meta'), 'book', { isPatient: true })
    if ((await bookOf(0)) !== undefined) {
      const stored = await store.field(shardKey(tags[0]!, 'meta'), 'shards')
      let shards = Number(stored ?? 1)
      while (stored === undefined && shards < MOST_SHARDS && (await bookOf(shards)) !== undefined) shards++
      return { limits: {}, shards }
    }
  } finally {
    await connection.close()
  }
  throw new InvalidOptionsError(
    `expected a line that a producer or a worker has created, got: none named ${quote(name)} in this Redis`,
  )
}

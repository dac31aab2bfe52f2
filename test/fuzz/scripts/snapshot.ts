import { createHash } from 'node:crypto'
import type { ChainableCommander, Redis } from 'ioredis'

/**
 * A digest of all keys with their values. Left out are the time of the last contact and what leases were extended by, which any
 * call may change before it looks at its jobs; and the order of fields, which Redis may change when it reads them.
 */
const DIGEST = `
local names, parts = redis.call('KEYS', '*'), {}
table.sort(names)
for _, name in ipairs(names) do
  if redis.call('TYPE', name).ok == 'hash' then
    local flat, fields = redis.call('HGETALL', name), {}
    for at = 1, #flat, 2 do
      if flat[at] ~= 'heardAt' and flat[at] ~= 'lifted' then fields[#fields + 1] = #flat[at] .. ':' .. flat[at] .. flat[at + 1] end
    end
    table.sort(fields)
    parts[#parts + 1] = name .. table.concat(fields, ';')
  else parts[#parts + 1] = name .. redis.call('DUMP', name) end
end
return redis.sha1hex(table.concat(parts, '|'))`
const DIGEST_SHA = createHash('sha1').update(DIGEST).digest('hex')

/** Everything that a server holds, to be put back before each input. */
export class Snapshot {
  readonly names: readonly string[]
  readonly #redis: Redis
  readonly #entries: readonly (readonly [name: string, value: Buffer])[]

  private constructor(redis: Redis, entries: readonly (readonly [string, Buffer])[]) {
    this.#redis = redis
    this.#entries = entries
    this.names = entries.map(([name]) => name)
  }

  /** What expires by itself stays for good when it is put back. */
  static async take(redis: Redis): Promise<Snapshot> {
    const names = (await redis.keys('*')).sort()
    await redis.script('LOAD', DIGEST)
    const entries = await Promise.all(
      names.map(async (name) => [name, (await redis.dumpBuffer(name))!] as const),
    )
    return new Snapshot(redis, entries)
  }

  async restore(): Promise<void> {
    await this.queue(this.#redis.pipeline()).exec()
  }

  /** The same as the next commands of a pipeline. */
  queue(pipeline: ChainableCommander): ChainableCommander {
    pipeline.flushdb()
    for (const [name, value] of this.#entries) pipeline.restore(name, 0, value)
    return pipeline
  }
}

/** Adds a digest of everything to a pipeline. */
export function queueDigest(pipeline: ChainableCommander): ChainableCommander {
  return pipeline.evalsha(DIGEST_SHA, 0)
}

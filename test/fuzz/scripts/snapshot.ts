import { createHash } from 'node:crypto'
import type { ChainableCommander, Redis } from 'ioredis'

/**
 * A digest of all keys with their values. Left out is what any call may note before it looks at its jobs: the time of the last
 * contact, what leases were extended by, how long and until when no call was made (the second and third number of `forward`),
 * which zone is missing, and that claims go through all buckets; and the order of fields, which Redis may change when it reads them.
 */
const DIGEST = `
local NOTED = { heardAt = true, lifted = true, zone = true, rewind = true }
local names, parts = redis.call('KEYS', '*'), {}
table.sort(names)
for _, name in ipairs(names) do
  if redis.call('TYPE', name).ok == 'hash' then
    local flat, fields = redis.call('HGETALL', name), {}
    for at = 1, #flat, 2 do
      local field, value = flat[at], flat[at + 1]
      if field == 'forward' then value = string.gsub(string.sub(value, 1, 8) .. string.sub(value, 25), '^%z+$', '') end
      if not NOTED[field] and not (field == 'forward' and value == '') then fields[#fields + 1] = #field .. ':' .. field .. value end
    end
    table.sort(fields)
    if #fields > 0 then parts[#parts + 1] = name .. table.concat(fields, ';') end
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

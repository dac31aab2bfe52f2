import type { Redis } from 'ioredis'
import { z } from 'zod'
import { withLibraries } from '../../src/redis/scripts/script.ts'

const LIBRARIES =
  'shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line sums waiting member summed chain total chosen'.split(
    ' ',
  )
const SCRIPT = withLibraries(
  '#!lua flags=no-writes',
  LIBRARIES,
  `local bucket, found = read_bucket(ARGV[1]), {}
  local name, child = bucket.key, bucket.member
  for _, total in ipairs(family.totals_of(bucket)) do
    local one = { total = total.key, tag = child.tag, weight = child.weight, others = {} }
    local ready = redis.call('ZRANGE', K.ready .. total.n, 0, -1, 'WITHSCORES')
    for index = 1, #ready, 2 do
      if ready[index] ~= name then one.others[#one.others + 1] = tonumber(ready[index + 1]) end
    end
    for _, other in ipairs(redis.call('ZRANGE', K.later .. total.n, 0, -1)) do
      local own = other ~= name and (is_total(other) and family.total(other) or family.bucket(other).member)
      if own then one.others[#one.others + 1] = math.max(own.tag, total.virtual - total.largest) end
    end
    found[#found + 1] = one
    name, child = total.key, total
  end
  return cjson.encode(found)`,
)
// An empty table of Lua is an object in JSON.
const tags = z.preprocess((value) => (Array.isArray(value) ? value : []), z.array(z.number()))
const schema = z.array(
  z.strictObject({ total: z.string(), tag: z.number(), weight: z.number(), others: tags }),
)

/**
 * The tags by which a bucket, and the totals above it, share the totals above them, the innermost first; and those of the others that
 * take part, whether their own limits let them go by now or not.
 *
 * @param tag of its shard
 */
export async function tagsOf(redis: Redis, tag: string, key: string): Promise<z.output<typeof schema>> {
  return schema.parse(JSON.parse(String(await redis.eval(SCRIPT, 1, tag, key))))
}

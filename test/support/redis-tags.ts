import type { Redis } from 'ioredis'
import { z } from 'zod'
import { withLibraries } from '../../src/redis/scripts/script.ts'

const LIBRARIES =
  'shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line sums waiting member summed chain total overdue chosen'.split(
    ' ',
  )
const SCRIPT = withLibraries(
  '#!lua flags=no-writes',
  LIBRARIES,
  `local function place_of(name) return is_total(name) and family.total(name) or family.bucket(name).member end
  local bucket, found = read_bucket(ARGV[1]), {}
  local name, child = bucket.key, bucket.member
  for _, total in ipairs(family.totals_of(bucket)) do
    local function place(name, own, score)
      local by = score and tonumber(score) or math.max(own.tag, total.virtual - total.largest)
      return { name = name, tag = own.tag, by = by, weight = own.weight }
    end
    local one = place(name, child, redis.call('ZSCORE', K.ready .. total.n, name))
    one.total, one.others = total.key, {}
    local ready = redis.call('ZRANGE', K.ready .. total.n, 0, -1, 'WITHSCORES')
    for index = 1, #ready, 2 do
      local other = ready[index]
      if other ~= name then one.others[#one.others + 1] = place(other, place_of(other), ready[index + 1]) end
    end
    for _, other in ipairs(redis.call('ZRANGE', K.later .. total.n, 0, -1)) do
      if other ~= name then one.others[#one.others + 1] = place(other, place_of(other)) end
    end
    found[#found + 1] = one
    name, child = total.key, total
  end
  return cjson.encode(found)`,
)
const place = z.strictObject({ name: z.string(), tag: z.number(), by: z.number(), weight: z.number() })
// An empty table of Lua is an object in JSON.
const places = z.preprocess((value) => (Array.isArray(value) ? value : []), z.array(place))
const schema = z.array(place.extend({ total: z.string(), others: places }))

/** A bucket, or a total, as a child of the total above it. `by`: the tag by which it is chosen, where it fell behind. */
export type TaggedChild = z.output<typeof place>

/**
 * The tags by which a bucket, and the totals above it, share the totals above them, the innermost first; and those of the others that
 * take part, whether their own limits let them go by now or not.
 *
 * @param tag of its shard
 */
export async function tagsOf(redis: Redis, tag: string, key: string): Promise<z.output<typeof schema>> {
  return schema.parse(JSON.parse(String(await redis.eval(SCRIPT, 1, tag, key))))
}

import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { KEY_TYPES, NUMBERED_KEYS } from '../../src/redis/scripts/keys.ts'

/** Keys of one number or name each, which must end by themselves: nothing else ever removes them. */
const PASSING: readonly string[] = ['op', 'draft', 'inbox', 'verdicts', 'starts']
/** Keys of the shard that must do so, too. */
const PASSING_SETS: readonly string[] = ['watched', 'vacancy']
/** The ended jobs of a first segment, with its hash. */
const OF_SEGMENT = 'kept'
/** Sets of a total, with its number. */
const OF_TOTALS: readonly string[] = ['later', 'ready', 'callers']
/** Lists of a bucket, with its number. */
const OF_BUCKETS: readonly string[] = NUMBERED_KEYS.filter(
  (name) => !PASSING.includes(name) && !OF_TOTALS.includes(name) && name !== OF_SEGMENT,
)
/** Where the number of a bucket or a total stands in its record, behind the magic number. */
const NUMBER_AT = 2
const PAGE = 1_000
/** Keys of BullMQ under the same tag. */
const TRANSPORT = /^:rope(?::|$)/

/** A key of a shard: `name` follows its tag. */
export interface KeyName {
  readonly tag: string
  readonly name: string
}

export interface Strays {
  readonly tags: readonly string[]
  readonly strays: readonly KeyName[]
}

/** The keys of some shapers, by pages. `isOurs` says whether a prefix is one of theirs. */
export async function* namesOf(redis: Redis, isOurs: (prefix: string) => boolean): AsyncGenerator<KeyName[]> {
  for await (const page of redis.scanStream({ match: '{*', count: PAGE })) {
    yield page.map(String).flatMap((name: string) => {
      const [, tag, prefix] = /^(\{([^:]+):.*?\})/s.exec(name) ?? []
      const isNamed = tag !== undefined && prefix !== undefined && isOurs(prefix)
      return isNamed ? [{ tag, name: name.slice(tag.length) }] : []
    })
  }
}

/**
 * The keys of some shapers that nothing would ever remove, and those that nothing knows: each key belongs to its shard, to a
 * bucket that its shard knows, or to the transport, or it ends by itself.
 *
 * @param isOurs whether to look at the shapers with that prefix
 */
export async function strayKeys(redis: Redis, isOurs: (prefix: string) => boolean): Promise<Strays> {
  const byTag = new Map<string, string[]>()
  for await (const page of namesOf(redis, isOurs)) {
    for (const { tag, name } of page) {
      const names = byTag.get(tag)
      if (names === undefined) byTag.set(tag, [name])
      else names.push(name)
    }
  }
  const strays: KeyName[] = []
  for (const [tag, names] of byTag) {
    const isOfBucket = (name: string) => /^:[a-z]+:/.test(name)
    const known = names.some(isOfBucket)
      ? { buckets: await numbersOf(redis, `${tag}:buckets`), totals: await numbersOf(redis, `${tag}:totals`) }
      : { buckets: new Set<number>(), totals: new Set<number>() }
    for (const name of names) {
      if (!(await isOwned(redis, tag, name, known))) strays.push({ tag, name })
    }
  }
  return { tags: [...byTag.keys()], strays }
}

interface Numbers {
  readonly buckets: ReadonlySet<number>
  readonly totals: ReadonlySet<number>
}

async function numbersOf(redis: Redis, name: string): Promise<ReadonlySet<number>> {
  if ((await redis.type(name)) !== 'hash') return new Set()
  const records = Object.values(await redis.hgetallBuffer(name))
  return new Set(records.filter(({ length }) => length > 6).map((record) => record.readUInt32LE(NUMBER_AT)))
}

async function isOwned(redis: Redis, tag: string, name: string, known: Numbers): Promise<boolean> {
  if (TRANSPORT.test(name)) return true
  const [, family = '', rest] = /^:([a-z]+)(?::(.*))?$/s.exec(name) ?? []
  // A key may have ended between the look at the names and this one.
  const ends = async () => (await redis.pttl(`${tag}${name}`)) !== -1
  if (rest === undefined) return family in KEY_TYPES && (!PASSING_SETS.includes(family) || (await ends()))
  if (PASSING.includes(family)) return ends()
  if (family === OF_SEGMENT) {
    const segments = await redis.zrange(`${tag}:shares`, 0, '-1')
    return segments.some((segment) => createHash('sha1').update(String(segment)).digest('hex') === rest)
  }
  const [, number] = /^(\d+)(?::\d+)?$/.exec(rest) ?? []
  if (OF_TOTALS.includes(family)) return known.totals.has(Number(number))
  return OF_BUCKETS.includes(family) && known.buckets.has(Number(number))
}

import type { BucketQuery } from '../../line/bucket-query.ts'

/** A set of keys: all that begin with a text; or, as a family, one key and the keys below it. */
interface Keys {
  readonly text: string
  readonly isFamily: boolean
}

/** A filter as the scripts read it: see `read_filter` in scripts/lib/filter.lua. */
export interface FilterValues {
  readonly values: readonly (string | number)[]
  /** The filter names nothing but bounds of fill, so the fill of a bucket alone says whether it matches. */
  readonly isPlain: boolean
}

/** One unit fills a larger share of every capacity. */
const LEAST_SHARE = 1e-12

/** Undefined where no key can match. */
export function filterValues(query: BucketQuery): FilterValues | undefined {
  const { prefix, under, pattern, state, minOldestWaitMs = 0 } = query
  const conditions = [
    { text: prefix, isFamily: false },
    ...(under === undefined ? [] : [{ text: under, isFamily: true }]),
    ...(pattern === undefined ? [] : [keysOf(pattern)]),
  ]
  const keys = conditions.reduce<Keys | undefined>((one, other) => one && both(one, other), conditions[0])
  const [min, max] = fillBounds(query)
  if (keys === undefined || min > max) return undefined
  // A script refuses infinity, and no job waits as long as the largest number says.
  const oldest = minOldestWaitMs === 0 ? '' : Math.min(minOldestWaitMs * 1_000, Number.MAX_VALUE)
  return {
    values: [keys.text, keys.isFamily ? '1' : '0', pattern ?? '', state ?? '', oldest, min, max],
    isPlain: keys.text === '' && pattern === undefined && state === undefined && oldest === '',
  }
}

/** The bounds of fill in a query, narrowed by what its other conditions imply. */
function fillBounds({
  minFill,
  maxFill,
  state,
  minOldestWaitMs = 0,
}: BucketQuery): [min: number, max: number] {
  let [min, max] = [minFill, maxFill ?? Number.POSITIVE_INFINITY]
  if (state === 'full') min = Math.max(min, 1)
  if (state === 'waiting' || minOldestWaitMs > 0) min = Math.max(min, LEAST_SHARE)
  if (state === 'waiting') max = Math.min(max, 1 - LEAST_SHARE)
  if (state === 'idle') max = 0
  return [min, max]
}

/** The keys that a pattern can match: they begin with the part before its first `*`. */
function keysOf(pattern: string): Keys {
  const star = pattern.split('/').indexOf('*')
  if (star === -1) return { text: pattern, isFamily: true }
  const text = pattern.split('/').slice(0, star).join('/')
  return { text: star === 0 ? '' : `${text}/`, isFamily: false }
}

/** The keys in both sets; undefined: none. */
function both(one: Keys, other: Keys): Keys | undefined {
  if (isPart(one, other)) return one
  return isPart(other, one) ? other : undefined
}

/** Whether a set is part of another. Two sets that share a key are always one part of the other. */
function isPart(part: Keys, whole: Keys): boolean {
  if (!part.text.startsWith(whole.text)) return false
  if (!whole.isFamily) return true
  if (part.isFamily && part.text === whole.text) return true
  return part.text.startsWith(`${whole.text}/`)
}

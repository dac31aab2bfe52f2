import type { BucketQuery } from '../../line/bucket-query.ts'

/** Which keys are meant: those that begin with a text, or a key with those below it. */
interface Name {
  readonly text: string
  readonly isFamily: boolean
}

/** A filter as the scripts read it: see `read_filter` in scripts/lib/filter.lua. */
export interface FilterValues {
  readonly values: readonly (string | number)[]
  /** Whether the place of a bucket by fill tells all that is asked for. */
  readonly isPlain: boolean
}

/** No capacity is so large that one unit fills less of it, or leaves less of it free. */
const LEAST_SHARE = 1e-12

/** Undefined where no key can be meant. */
export function filterValues(query: BucketQuery): FilterValues | undefined {
  const { prefix, under, pattern, state, minOldestWaitMs = 0 } = query
  const names = [
    { text: prefix, isFamily: false },
    ...(under === undefined ? [] : [{ text: under, isFamily: true }]),
    ...(pattern === undefined ? [] : [nameOf(pattern)]),
  ]
  const name = names.reduce<Name | undefined>((one, other) => one && both(one, other), names[0])
  const [min, max] = fillBounds(query)
  if (name === undefined || min > max) return undefined
  const oldest = minOldestWaitMs === 0 ? '' : minOldestWaitMs * 1_000
  return {
    values: [name.text, name.isFamily ? '1' : '0', pattern ?? '', state ?? '', oldest, min, max],
    isPlain: name.text === '' && pattern === undefined && state === undefined && oldest === '',
  }
}

/** What a query says of the fill, and what else it asks for says of it. */
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

/** The keys that a rule can govern begin with what stands before its first `*`. */
function nameOf(pattern: string): Name {
  const star = pattern.split('/').indexOf('*')
  if (star === -1) return { text: pattern, isFamily: true }
  const text = pattern.split('/').slice(0, star).join('/')
  return { text: star === 0 ? '' : `${text}/`, isFamily: false }
}

/** The keys that two names mean; undefined: none. */
function both(one: Name, other: Name): Name | undefined {
  if (isPart(one, other)) return one
  return isPart(other, one) ? other : undefined
}

/** Whether all keys of a name are also meant by another; where they share but some, one of them is part of the other. */
function isPart(part: Name, whole: Name): boolean {
  if (!part.text.startsWith(whole.text)) return false
  if (!whole.isFamily) return true
  if (part.isFamily && part.text === whole.text) return true
  return part.text.startsWith(`${whole.text}/`)
}

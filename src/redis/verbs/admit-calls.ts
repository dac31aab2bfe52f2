import type { Limit } from '../../core/limit.ts'
import { MOST_PER_CALL } from '../scripts/prelude.ts'
import type { NamedRequest } from './admit.ts'

/** Bytes of data in one call: a larger one would hold others up, in Redis and on the way. */
const MOST_BYTES = 1_000_000
/** Keys of one call: a job for a new key takes four times as long as one more job for the same key. */
const MOST_KEYS = 100

/** Reading what a quota counts takes a fifth as long as all else of a key; of a unit, it is written too. */
const KEYS_PER_QUOTA = 0.2
const KEYS_PER_UNIT = 0.6

/** How many keys without quotas take as long as this one. */
type WeightOf = (key: string) => number

/** How many keys without quotas take as long as one under this limit. */
export function weightUnder(limit: Pick<Limit, 'quotas'> | undefined): number {
  const ofUnits = limit?.quotas.filter(({ unit }) => unit !== undefined).length ?? 0
  const ofJobs = (limit?.quotas.length ?? 0) - ofUnits
  return 1 + KEYS_PER_QUOTA * ofJobs + KEYS_PER_UNIT * ofUnits
}

/** How many requests, from the one at `from` on, go out in one call; at least one. */
export function sizeOfCall(
  requests: readonly NamedRequest[],
  from: number,
  weightOf: WeightOf = () => 1,
): number {
  const keys = new Set<string>()
  let bytes = 0
  let weight = 0
  let size = 0
  while (size < MOST_PER_CALL && from + size < requests.length) {
    const { key, data } = requests[from + size]!
    bytes += Buffer.byteLength(data)
    if (!keys.has(key)) weight += weightOf(key)
    keys.add(key)
    if (size > 0 && (bytes > MOST_BYTES || weight > MOST_KEYS)) break
    size++
  }
  return size
}

/**
 * The places of requests that one call does not take, in the order in which they go out: those of one key follow each other, so that few
 * calls read and write its bucket, and the order within a key stays. An id with two keys is a conflict for the second of them, so then
 * all stay where they are: undefined.
 */
export function orderOfCalls(requests: readonly NamedRequest[]): readonly number[] | undefined {
  const byKey = new Map<string, number[]>()
  const keys = new Map<string, string>()
  for (const [place, { id, key }] of requests.entries()) {
    const known = keys.get(id) ?? key
    if (known !== key) return undefined
    keys.set(id, key)
    const others = byKey.get(key)
    if (others === undefined) byKey.set(key, [place])
    else others.push(place)
  }
  return [...byKey.values()].flat()
}

import type { Limit } from '../../core/limit.ts'
import type { JobRequest } from '../../line/job.ts'
import { MOST_PER_CALL } from '../scripts/prelude.ts'

/** A request with the id that its producer gave it, or that was made for it: a request that comes twice is admitted once. */
export type NamedRequest = JobRequest & { readonly id: string }

/** Bytes of data in one call: a larger one would hold others up, in Redis and on the way. */
const MOST_BYTES = 1_000_000
/** What one call may take, in new keys with one job each: so many take nearly 5 ms on a busy machine. */
const MOST_KEYS = 135
/** What one more job of the same key takes. */
const KEYS_PER_JOB = 0.125
/** What a quota takes when all of its sub-windows count: it is read; of a unit, it is written, too. */
const KEYS_PER_QUOTA = 0.2
const KEYS_PER_UNIT = 0.9

/** What the place below one total takes. */
const KEYS_PER_TOTAL = 0.4

/** How many keys without quotas take as long as this one. */
type WeightOf = (key: string) => number

/** How many keys without quotas take as long as one under this limit. */
export function weightUnder(limit: Pick<Limit, 'quotas'> | undefined, totals = 0): number {
  let weight = 1 + totals * KEYS_PER_TOTAL
  for (const { unit } of limit?.quotas ?? []) weight += unit === undefined ? KEYS_PER_QUOTA : KEYS_PER_UNIT
  return weight
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
    weight += keys.has(key) ? KEYS_PER_JOB : weightOf(key)
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

import type { NamedRequest } from '../protocol/shared-backend.ts'

/** A call of more would hold others up, in Redis and on the way. */
const MOST_JOBS = 200
const MOST_BYTES = 1_000_000

/** How many requests, from the one at `from` on, go out in one call; at least one. */
export function sizeOfSlice(requests: readonly NamedRequest[], from: number): number {
  let bytes = 0
  let size = 0
  while (size < MOST_JOBS && from + size < requests.length) {
    bytes += Buffer.byteLength(requests[from + size]!.data)
    if (size > 0 && bytes > MOST_BYTES) break
    size++
  }
  return size
}

import type { EnqueueRequest } from '../shaper/options.ts'

/** The most jobs of one call, and about how many bytes of them: a service takes 1 MiB unless it is told otherwise. */
export const MOST_JOBS = 200
const MOST_BYTES = 1_000_000

/** Cuts requests into calls that a service takes, in order. One that alone is too large makes a call of its own. */
export function* slicesOf(
  requests: readonly EnqueueRequest<unknown>[],
): Generator<readonly EnqueueRequest<unknown>[]> {
  let slice: EnqueueRequest<unknown>[] = []
  let bytes = 0
  for (const request of requests) {
    const size = Buffer.byteLength(JSON.stringify(request)) + 1
    if (slice.length > 0 && (slice.length === MOST_JOBS || bytes + size > MOST_BYTES)) {
      yield slice
      ;[slice, bytes] = [[], 0]
    }
    slice.push(request)
    bytes += size
  }
  if (slice.length > 0) yield slice
}

import { MILLISECOND } from '../../core/duration.ts'
import type { Accepted, Rejected } from '../../core/job.ts'
import type { Verdict } from '../../core/verdict.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** What the rounding of epoch microseconds may add, and no wait is owed for. */
const ROUNDING_MS = 0.0005

interface Place {
  readonly id: string
  readonly key: string
  readonly position: number
  /** Microseconds. */
  readonly departsAt: number
}

/** `waiting`: cost units, the newcomer's included. */
export function accepted(
  { id, key, position, departsAt }: Place,
  waiting: number,
  { limit }: MemoryBucket,
  now: number,
): Accepted {
  const waitMs = (departsAt - now) / MILLISECOND
  const { capacity } = limit
  return { accepted: true, id, key, position, departsAt: departsAt / MILLISECOND, waitMs, waiting, capacity }
}

/** The wait is rounded up to whole milliseconds, because timers count in them and must not come back early. */
export function rejected(
  verdict: Extract<Verdict, { accepted: false }>,
  bucket: MemoryBucket,
  now: number,
): Rejected {
  const retryAfterMs = Math.max(1, Math.ceil((verdict.retryAt - now) / MILLISECOND - ROUNDING_MS))
  const { waiting, limit } = bucket
  const { capacity } = limit
  return { accepted: false, reason: verdict.reason, key: bucket.key, retryAfterMs, waiting, capacity }
}

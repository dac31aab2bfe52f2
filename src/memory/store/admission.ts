import { MILLISECOND } from '../../core/duration.ts'
import { type Accepted, type Rejected, retryAfterMs } from '../../core/job.ts'
import type { Verdict } from '../../core/verdict.ts'
import type { MemoryBucket } from './memory-bucket.ts'

interface Place {
  readonly id: string
  readonly key: string
  readonly position: number
  /** Microseconds. */
  readonly departsAt: number
}

/** `waiting`: cost units, the new job's included. */
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

export function rejected(
  verdict: Extract<Verdict, { accepted: false }>,
  bucket: MemoryBucket,
  now: number,
): Rejected {
  const { reason, retryAt } = verdict
  const { key, waiting, limit } = bucket
  const { capacity } = limit
  return { accepted: false, reason, key, retryAfterMs: retryAfterMs(retryAt - now), waiting, capacity }
}

import { mayBeSettled, projectionOf } from '../../core/bucket.ts'
import type { Hold } from '../../core/hold.ts'
import { hasParts } from '../../core/limit.ts'
import type { CountedJob } from '../../core/usage.ts'
import { Walk } from '../../core/walk.ts'
import { type LineHold, MOST_READ, type PartsFacts } from '../../line/job-facts.ts'
import { lastHoldOf } from '../../line/parts-view.ts'
import { lastHoldUnder } from '../../line/totals-text.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import { underTotals } from './totals-ahead.ts'

/**
 * When a job departs under a limit with more than a pace, and what of it holds the job.
 *
 * @param passed the first jobs ahead of it, in order
 * @param ahead cost units of all jobs ahead of it
 */
export function departureByParts(
  bucket: MemoryBucket,
  job: CountedJob,
  passed: readonly CountedJob[],
  ahead: number,
  now: number,
): { readonly departsAt: number; readonly parts: PartsFacts } {
  const { limit, usage = [] } = bucket
  const walk = new Walk(limit, projectionOf(bucket, now), usage, { isOpen: mayBeSettled(bucket, now) })
  let quota: LineHold | undefined
  const lookAt = (other: CountedJob) => {
    const hold = walk.holdOf(other)
    if (hold !== undefined) quota = { ...hold, isOwn: other === job }
  }
  let unseen = ahead
  for (const other of passed) {
    lookAt(other)
    walk.depart(other)
    unseen -= other.cost
  }
  if (unseen === 0) lookAt(job)
  const mayBeLater = unseen > 0 || bucket.retrying > 0 || limit.concurrency < Number.POSITIVE_INFINITY
  const { at, mayBeEarlier } =
    unseen === 0 ? walk.departureOf(job) : { at: walk.behind(unseen), mayBeEarlier: walk.mayBeEarlier }
  return {
    departsAt: at,
    parts: { mayBeLater, mayBeEarlier, quota, isFull: bucket.placesTaken >= limit.concurrency },
  }
}

/** What would hold a new job that departs at `departsAt` behind `ahead` others, if anything but the pace of its limit might. */
export function heldByOf(
  bucket: MemoryBucket,
  job: CountedJob,
  ahead: number,
  departsAt: number,
  now: number,
): Hold | undefined {
  const { limit, waiting } = bucket
  const own = hasParts(limit) ? heldByParts(bucket, job, ahead, departsAt, now) : undefined
  if (own?.reason === 'paused' || own?.reason === 'place') return own
  const under = underTotals(bucket, job, waiting, undefined, now)
  return (under && lastHoldUnder(under.totals, departsAt, now)) ?? own
}

function heldByParts(
  bucket: MemoryBucket,
  job: CountedJob,
  ahead: number,
  departsAt: number,
  now: number,
): Hold | undefined {
  const { limit, waiting, paused, frozenUntil } = bucket
  const passed: CountedJob[] = []
  for (const other of bucket.inOrder(now)) {
    if (passed.length === MOST_READ) break
    passed.push(other)
  }
  const { quota, isFull } = departureByParts(bucket, job, passed, waiting, now).parts
  return lastHoldOf({ ahead, departsAt, quota, paused, frozenUntil, isFull }, limit, now)
}

import { mayBeSettled, projectionOf } from '../../core/bucket.ts'
import { Walk } from '../../core/walk.ts'
import type { LineHold, PartsFacts } from '../../line/job-facts.ts'
import type { JobRecord } from './job-record.ts'

/**
 * When a job departs under a limit with more than a pace, and what of it holds the job.
 *
 * @param passed the first jobs ahead of it, in order
 * @param ahead cost units of all jobs ahead of it
 */
export function departureByParts(
  job: JobRecord,
  passed: readonly JobRecord[],
  ahead: number,
  now: number,
): { readonly departsAt: number; readonly parts: PartsFacts } {
  const { bucket } = job
  const { limit, usage = [] } = bucket
  const walk = new Walk(limit, projectionOf(bucket, now), usage, { isOpen: mayBeSettled(bucket, now) })
  let quota: LineHold | undefined
  const lookAt = (other: JobRecord) => {
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

import { nextSlot } from '../../core/bucket.ts'
import { chargesOf, roomAt, type Usage } from '../../core/usage.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** The slot, not before `from`, of the next departure of the bucket; Infinity when no job may depart. */
export function nextDeparture(bucket: MemoryBucket, from: number): number {
  const { limit, usage } = bucket
  if (bucket.jobs === 0 || bucket.paused || bucket.placesTaken >= limit.concurrency)
    return Number.POSITIVE_INFINITY
  const slot = nextSlot(bucket, from)
  const at = bucket.hasLine ? slot : Math.max(slot, bucket.retryReadyAt)
  return usage === undefined ? at : roomOfHead(bucket, usage, at)
}

/** When the quotas have room, from then on, for the head that the bucket has at that time. */
function roomOfHead(bucket: MemoryBucket, usage: Usage, from: number): number {
  const { limit, retryReadyAt } = bucket
  for (let at = from; ; ) {
    // A retry that is ready meanwhile is the head.
    const room = roomAt(limit, usage, chargesOf(limit, bucket.headAt(at)), at)
    if (room === at) return at
    // If it is ready before there is room, there may be room for it.
    if (at < retryReadyAt && retryReadyAt < room) at = retryReadyAt
    else at = room
  }
}

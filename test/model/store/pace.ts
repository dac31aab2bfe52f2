// As src/redis/scripts/lib/pace.lua, without warm-up. All times count from now, so `now` is 0.
import type { Bucket, Shard } from './shard.ts'
import * as usage from './usage.ts'

/** What a bucket and a total have of the pace. */
export interface Paced extends Pick<Shard, 'limit' | 'setup'> {
  readonly bucket: Pick<Bucket, 'next' | 'frozen' | 'lastCost' | 'lastStart' | 'startedCost' | 'grantedSlot'>
}

export function spacingAfterStart({ bucket, limit }: Paced): number {
  return limit.interval * bucket.startedCost
}

export function spacingAfterSlot({ bucket, limit }: Paced): number {
  return limit.interval * bucket.lastCost
}

export function farthestNext(shard: Paced): number {
  return 2 * shard.setup.durations.farthest + Math.max(spacingAfterSlot(shard), spacingAfterStart(shard))
}

export function nextSlot({ bucket }: Paced, from = 0): number {
  return Math.max(from, bucket.next, bucket.frozen)
}

export function setNext(shard: Paced, slot: number): void {
  shard.bucket.next = slot + spacingAfterSlot(shard)
}

export function reserve(shard: Paced, cost: number, from: number): number {
  const slot = nextSlot(shard, from)
  shard.bucket.lastCost = cost
  setNext(shard, slot)
  return slot
}

/** Lateness within the tolerance keeps the slot on the grid. */
export function reserveDue(shard: Shard, cost: number, due: number, now: number): [number, boolean] {
  const { bucket, limit } = shard
  const isOnGrid = due <= Math.max(bucket.next, bucket.frozen) && now - due <= limit.tolerance
  return [reserve(shard, cost, isOnGrid ? due : now), isOnGrid]
}

/** Gives back the last slot. */
export function unreserve(shard: Shard): void {
  shard.member?.unreserve()
  if (!shard.has('charge-not-given-back')) usage.chargeSlot(shard, -1)
  freeLastSlot(shard)
}

export function freeLastSlot(shard: Paced, slot = shard.bucket.grantedSlot): void {
  const { bucket, limit } = shard
  const afterStart = bucket.lastStart - limit.tolerance + spacingAfterStart(shard)
  bucket.next = Math.max(slot, afterStart)
  bucket.lastCost = 0
}

export function freeze({ bucket }: Shard, until: number): void {
  bucket.frozen = Math.max(bucket.frozen, until)
}

/** `change_limit`: returns whether another limit governs the bucket now. */
export function changeLimit(shard: Shard): boolean {
  const { bucket, meta } = shard
  if (bucket.limit === meta.book) return false
  const before = spacingAfterSlot(shard)
  usage.changeLimit(shard)
  const fromSlot = bucket.next + (spacingAfterSlot(shard) - before)
  const fromStart = bucket.lastStart - shard.limit.tolerance + spacingAfterStart(shard)
  bucket.next = shard.has('limit-forgets-slot') ? shard.ends.never : Math.max(fromSlot, fromStart)
  return true
}

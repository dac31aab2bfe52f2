import { type Bucket, nextSlot, projectionOf } from './bucket.ts'
import { weigh } from './fair-queue.ts'
import { type Child, type Total, type TotalledBucket, totalsAbove } from './total.ts'
import { spacing } from './warmth.ts'

/** Where a job of a bucket stands below one of the totals above it. */
export interface PlaceUnder {
  readonly total: Total
  /** How many other children of the total have jobs that wait. */
  readonly others: number
  /** The weight of the child below which the job waits, and of all that have jobs that wait, that one included. */
  readonly weight: number
  readonly weights: number
  /** Units of the family that depart before it, if each child goes on getting the share that it has now. */
  readonly ahead: number
  /** When the pace of the total lets it depart then. */
  readonly departsAt: number
}

/**
 * Where a job stands below the totals above its bucket, from the inside out.
 *
 * @param ahead units of its own line that depart before it
 * @param counted its cost, if it waits already; 0 for one that is to come
 */
export function* placesUnder(
  bucket: TotalledBucket,
  ahead: number,
  counted: number,
  now: number,
): Generator<PlaceUnder> {
  let child: Child = bucket
  let before = ahead
  for (const total of totalsAbove(bucket)) {
    const { bucket: shared, queue, waiting } = total
    const isIn = child.standing === 'ready' || child.standing === 'held'
    const weight = weigh(child.weight)
    const weights = queue.weights + (isIn ? 0 : weight)
    before = Math.max(0, Math.min(waiting - counted, (before * weights) / weight))
    const departsAt = paceBehind(shared, before, now)
    yield { total, others: queue.size - (isIn ? 1 : 0), weight, weights, ahead: before, departsAt }
    child = total
  }
}

/** When the pace of a total lets a job go that has so many units of the family before it. */
export function paceBehind(shared: Bucket, units: number, now: number): number {
  const { slot, warmth } = projectionOf(shared, now)
  return slot + spacing(shared.limit, warmth, units)
}

/** `at`, or when all totals above the child let a job of it go, if that is later; Infinity: one of them is paused. */
export function notBefore(child: Child, at: number, now: number): number {
  let later = at
  for (const { bucket } of totalsAbove(child)) {
    later = bucket.paused ? Number.POSITIVE_INFINITY : Math.max(later, nextSlot(bucket, now))
  }
  return later
}

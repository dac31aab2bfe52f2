import { nextSlot } from '../../core/bucket.ts'
import { bucketState } from '../../core/bucket-view.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { FamilyView } from '../../core/family-view.ts'
import { formatLimit } from '../../core/limit-format.ts'
import { notBefore } from '../../core/total-place.ts'
import { chargesOf, roomAt } from '../../core/usage.ts'
import { partsView } from '../../line/parts-view.ts'
import { holdAt, quotaCounts } from './bucket-facts.ts'
import type { MemoryTotal } from './family.ts'

/** The view of a total at one time. */
export function familyViewOf(total: MemoryTotal, now: number): FamilyView {
  const { path, pattern, parent, bucket, running, children } = total
  const { limit, waiting, paused, frozenUntil } = bucket
  const departsAt = notBefore(total, departureBelow(total, now), now)
  const isFrozen = frozenUntil > now
  return {
    path,
    ...(parent !== undefined && { total: parent.path }),
    pattern,
    limit: formatLimit(limit),
    state: bucketState(waiting, limit.capacity, paused, isFrozen),
    waiting,
    capacity: limit.capacity,
    fill: waiting / limit.capacity,
    running,
    children,
    ...(Number.isFinite(departsAt) && { nextDepartureAt: departsAt / MILLISECOND }),
    ...(isFrozen && { frozenUntil: frozenUntil / MILLISECOND }),
    paused,
    ...partsOf(total, now),
  }
}

/** When its own limit lets the next job below it depart; Infinity: not before something changes. */
function departureBelow(total: MemoryTotal, now: number): number {
  const slot = slotBelow(total, now)
  const { limit, usage } = total.bucket
  const head = slot < Number.POSITIVE_INFINITY ? total.headAt(slot) : undefined
  return usage === undefined || head === undefined ? slot : roomAt(limit, usage, chargesOf(limit, head), slot)
}

/** The same by its pace. */
function slotBelow(total: MemoryTotal, now: number): number {
  const { bucket, running } = total
  if (bucket.paused || running >= bucket.limit.concurrency) return Number.POSITIVE_INFINITY
  const from = readyAt(total, now)
  return from === Number.POSITIVE_INFINITY ? from : nextSlot(bucket, from)
}

/** When a job below it may go as far as the limits of its own are concerned. */
function readyAt({ queue }: MemoryTotal, now: number): number {
  return queue.next === undefined ? Math.max(queue.laterAt, now) : now
}

function partsOf(total: MemoryTotal, now: number) {
  const { bucket, running } = total
  const { limit, usage, waiting, paused, frozenUntil } = bucket
  const departsAt = departureBelow(total, now)
  const counted = total.headAt(departsAt)
  const quota = usage && counted && holdAt(limit, usage, counted, slotBelow(total, now), departsAt)
  const ready = readyAt(total, now)
  const isFull = running >= limit.concurrency && ready < Number.POSITIVE_INFINITY
  const head = { path: total.path, ahead: 0, readyAt: ready, departsAt, quota, paused, frozenUntil, isFull }
  return partsView(limit, quotaCounts(limit, usage, now), running, waiting > 0 ? head : undefined, now)
}

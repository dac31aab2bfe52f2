import * as buckets from './bucket.ts'
import { type Child, parentOf, Total, type TotalledBucket, totalsAbove, useOf } from './total.ts'
import type * as usages from './usage.ts'

/** Children that become due together join in slices of so many. */
const MOST_WOKEN = 200

/** Tells the totals above a child that it stands elsewhere: something came, went, froze, or its own limits changed. */
export function stand(child: Child, now: number): void {
  const total = parentOf(child)
  if (total === undefined) return
  place(child, total, now)
  stand(total, now)
}

/**
 * The bucket that departs next, if one is due by `now` under the outermost total, and since when; or when to ask again, Infinity: when
 * something changes.
 */
export function nextUnder(
  outermost: Total,
  now: number,
): { readonly bucket?: TotalledBucket; readonly due: number } {
  bringUp(outermost, now)
  const { head, queue } = outermost
  const due = outermost.dueAt(now) ?? Number.POSITIVE_INFINITY
  return due <= now && head !== undefined ? { bucket: head, due } : { due: due <= now ? queue.laterAt : due }
}

/**
 * All totals above the bucket reserve their next slot for a job of it that departs at `now` and was due since `due`. Quotas are charged
 * apart. Then the bucket must `stand` anew.
 *
 * @returns the slots, from the inside out
 */
export function departUnder(
  bucket: TotalledBucket,
  job: usages.Counted,
  due: number,
  now: number,
): readonly TotalSlot[] {
  const slots: TotalSlot[] = []
  let child: Child = bucket
  for (const total of totalsAbove(bucket)) {
    slots.push({ total, slot: buckets.reserveDue(total.bucket, job.cost, due, now) })
    buckets.depart(total.bucket, job.cost, now)
    total.running += 1
    total.queue.serve(child, useOf(total.bucket.limit, job))
    child = total
  }
  return slots
}

/** What a departure took of a total. */
export interface TotalSlot {
  readonly total: Total
  readonly slot: number
}

function place(child: Child, total: Total, now: number): void {
  const { queue } = total
  const { standing, frozenUntil } = child
  const due = child.dueAt(now)
  const takesPart = standing === 'ready' || standing === 'held'
  if (due === undefined) {
    if (takesPart || standing === 'frozen') queue.leave(child)
  } else if (frozenUntil > now) queue.freeze(child, Math.max(frozenUntil, due))
  else {
    if (!takesPart) {
      if (total.bucket.next <= now) queue.rest()
      queue.join(child, useOf(total.bucket.limit, child.headAt(Math.max(now, due))!))
    }
    if (due > now) queue.hold(child, due)
    else if (child.standing === 'held') queue.release(child)
  }
}

/**
 * Lets children join the total, and the total below it that is next, if their time has come; a bounded number at a time. While a total
 * is closed, its children wait, and join when it opens.
 */
function bringUp(total: Total, now: number): void {
  const { queue } = total
  if (!total.isOpen(now)) return
  for (let count = 0; count < MOST_WOKEN; count++) {
    if (queue.laterAt <= now) {
      place(queue.nextLater!, total, now)
      continue
    }
    const { next } = queue
    if (!(next instanceof Total)) return
    bringUp(next, now)
    place(next, total, now)
    // It is next and stays so.
    if (next === queue.next && queue.laterAt > now) return
  }
}

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

/** The bucket that departs next under an outermost total, and since when it may; or when to ask again. Infinity: when something changes. */
export interface NextUnder {
  readonly bucket?: TotalledBucket
  readonly due: number
}

/** The bucket that departs next, if one is due by `now`. First all children join whose time has come. */
export function nextUnder(outermost: Total, now: number): NextUnder {
  return lookUnder(outermost, now, true)
}

/** The same as far as it is known before others join: one of those may then be first. */
export function expectedUnder(outermost: Total, now: number): NextUnder {
  return lookUnder(outermost, now, false)
}

function lookUnder(outermost: Total, now: number, isChoosing: boolean): NextUnder {
  if (!bringUp(outermost, now, isChoosing)) return { due: now }
  const { head } = outermost
  const due = outermost.dueAt(now) ?? Number.POSITIVE_INFINITY
  return due <= now && head !== undefined ? { bucket: head, due } : { due }
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

/**
 * Puts a child where it stands below its total. A child that was held or frozen stays so until the total chooses its next departure.
 *
 * @param isChoosing whether the total does so now
 */
function place(child: Child, total: Total, now: number, isChoosing = false): void {
  const { queue, bucket } = total
  const { standing, frozenUntil } = child
  const due = child.dueAt(now)
  const takesPart = standing === 'ready' || standing === 'held'
  if (due === undefined) {
    if (takesPart || standing === 'frozen') queue.leave(child)
  } else if (frozenUntil > now || (standing === 'frozen' && !isChoosing)) {
    queue.freeze(child, Math.max(frozenUntil, due))
  } else {
    if (!takesPart) {
      if (bucket.next <= now) queue.rest()
      queue.join(child, useOf(bucket.limit, child.headAt(Math.max(now, due))!))
    }
    if (due > now || (standing === 'held' && !isChoosing)) queue.hold(child, due)
    else if (standing === 'held') queue.release(child)
  }
}

/**
 * Finds the child that goes next below the total, and below the total that is next; a bounded number is looked at in a call. Holds those
 * that were ready and are no more: of a bucket, a retry may be first by now that has to wait for a quota. Returns whether it is found.
 *
 * @param isChoosing lets children join whose time has come. While a total is closed, they wait, and join when it opens
 */
function bringUp(total: Total, now: number, isChoosing: boolean): boolean {
  const { queue } = total
  const joins = isChoosing && total.isOpen(now)
  for (let count = 0; count < MOST_WOKEN; count++) {
    const { next, nextLater, laterAt } = queue
    if (joins && laterAt <= now) {
      place(nextLater!, total, now, true)
      continue
    }
    if (next === undefined) return true
    if (next instanceof Total && !bringUp(next, now, joins)) return false
    place(next, total, now)
    if (next === queue.next && !(joins && queue.laterAt <= now)) return true
  }
  return false
}

// As src/redis/verbs/claim.lua, with rounds.lua, rewind.lua and handover.lua in scripts/lib.

import { guardRun } from '../lease.ts'
import { forgetIdle, trimEnded } from '../leave.ts'
import { dueByParts, dueOf, hasLine, peekHead, reschedule, scheduleAt, takeHead } from '../line.ts'
import { farthestNext } from '../pace.ts'
import { HANDED, NO_ONE, type Shard } from '../shard.ts'
import { clamp } from '../usage.ts'

/** Jobs of one bucket, whatever its rate. */
const MOST_HANDED = 16

export interface ClaimCall {
  readonly scheduler: number
  /** The epoch for a job: larger than any before. */
  readonly stamp: (job: number) => number
}

/** How many jobs may be handed over and not started. */
export function windowOf({ limit, setup }: Shard): number {
  return Math.max(1, Math.min(MOST_HANDED, Math.ceil(setup.lookAhead / limit.interval)))
}

/** Returns the jobs that were handed over; undefined: another scheduler is elected. */
export function claim(shard: Shard, { scheduler, stamp }: ClaimCall): number[] | undefined {
  const { setup, bucket } = shard
  guardRun(shard)
  if (isOthers(shard, scheduler)) return undefined
  rewind(shard)
  const handed: number[] = []
  if (bucket.due <= setup.lookAhead) while (handOver(shard, stamp, handed));
  forgetIdle(shard)
  trimEnded(shard)
  elect(shard, scheduler, bucket.due)
  return handed
}

/** Another scheduler is elected. */
export function isOthers({ meta, setup }: Shard, scheduler: number): boolean {
  const isOther = meta.leader !== 0 && meta.leader !== scheduler
  return isOther && meta.leaderUntil > 0 && meta.leaderUntil <= setup.durations.leaderLease
}

export function elect({ meta, setup }: Shard, scheduler: number, nextDue: number): void {
  const { leaderLease, longSleep } = setup.durations
  meta.leader = scheduler
  meta.leaderUntil = nextDue - setup.lookAhead < longSleep ? leaderLease : 0
}

/** Hands over the head of the line; false: it may not go. */
export function handOver(shard: Shard, stamp: ClaimCall['stamp'], handed: number[]): boolean {
  const { bucket, setup, ends } = shard
  const due = dueOf(shard)
  const room = shard.has('no-window') ? MOST_HANDED : windowOf(shard)
  if (shard.handed.count >= room) {
    scheduleAt(shard, ends.far)
    return false
  }
  if (due > setup.lookAhead) {
    reschedule(shard)
    return false
  }
  const [job, kind] = peekHead(shard, Math.max(0, due))
  const putOff = dueByParts(shard, job, due)
  if (putOff > setup.lookAhead) {
    bucket.due = putOff
    return false
  }
  const record = shard.jobs[job]!
  const readyAt = kind === 1 ? record.readyAt : ends.never
  record.floor = hasLine(shard) ? ends.never : readyAt
  takeHead(shard, job, kind)
  const epoch = stamp(job)
  Object.assign(record, {
    state: HANDED,
    kind,
    readyAt,
    epoch,
    worker: NO_ONE,
    slot: ends.never,
    isUnsure: 0,
  })
  record.lease = setup.durations.claimLease
  shard.handed.push(job)
  shard.member?.hand(job, 1)
  handed.push(job)
  return true
}

/** After the clock was set back: what is too far ahead is brought back. */
function rewind(shard: Shard): void {
  const { bucket, meta, setup } = shard
  if (meta.isRewinding === 0) return
  meta.isRewinding = 0
  if (bucket.exists === 0) return
  bucket.from = Math.min(bucket.from, 0)
  bucket.lastStart = Math.min(bucket.lastStart, 0)
  bucket.grantedSlot = Math.min(bucket.grantedSlot, setup.durations.farthest)
  bucket.next = Math.min(bucket.next, farthestNext(shard))
  clamp(shard)
  reschedule(shard)
}

// As src/redis/verbs/cancel.lua, hold.lua, quarantine.lua and resign.lua, and src/redis/rules/retime.lua.

import { ANY_COST, noteActivity, noteLoss, noteStep } from '../lease.ts'
import { endWaiting, trimEnded, waits } from '../leave.ts'
import { rescheduleFrom } from '../line.ts'
import { changeLimit, freeze as freezeBucket } from '../pace.ts'
import { ABSENT, CANCELLED, CANCELLER, GRANTED, RUNNING, type Shard } from '../shard.ts'
import { allowForLoss } from '../usage.ts'

/** Returns whether the job was cancelled. */
export function cancel(shard: Shard, job: number): boolean {
  const record = shard.jobs[job]!
  if (record.state !== ABSENT && shard.meta.heardAt > 0) noteActivity(shard)
  const isBlind = shard.has('cancels-departed') && (record.state === GRANTED || record.state === RUNNING)
  if (!waits(record) && !isBlind) return false
  if (isBlind) shard.handed.remove(job)
  if (shard.bucket.granted === job + 1) Object.assign(shard.bucket, { granted: 0, grantedCost: 0 })
  record.worker = CANCELLER
  endWaiting(shard, job, CANCELLED)
  trimEnded(shard)
  return true
}

export function freeze(shard: Shard, duration: number): void {
  const { bucket, meta } = shard
  if (meta.heardAt > 0) noteActivity(shard)
  openBucket(shard)
  freezeBucket(shard, duration)
  rescheduleFrom(shard, shard.handed.count > 0 ? bucket.from : shard.ends.never)
}

/** Returns whether there was a freeze to lift. */
export function unfreeze(shard: Shard): boolean {
  const { bucket, meta, ends } = shard
  if (meta.heardAt > 0) noteActivity(shard)
  if (bucket.exists === 0 || bucket.frozen <= 0) return false
  allowForLoss(shard)
  bucket.frozen = ends.never
  rescheduleFrom(shard, shard.handed.count > 0 ? bucket.from : 0)
  return true
}

export function hold(shard: Shard, verb: 'pause' | 'resume'): void {
  const { bucket, meta, ends } = shard
  if (meta.heardAt > 0) noteActivity(shard)
  if (bucket.exists === 0 && verb === 'resume') return
  openBucket(shard)
  bucket.paused = verb === 'pause' ? 1 : 0
  rescheduleFrom(shard, shard.handed.count > 0 ? bucket.from : verb === 'pause' ? ends.never : 0)
}

function openBucket(shard: Shard): void {
  const { bucket, meta } = shard
  if (bucket.exists === 0) Object.assign(bucket, { exists: 1, limit: meta.book })
  allowForLoss(shard)
}

/** The next rule is in force, and the bucket follows it. */
export function changeRule(shard: Shard): void {
  const { bucket, meta, ends } = shard
  meta.book += 1
  if (bucket.exists === 1 && changeLimit(shard)) {
    rescheduleFrom(shard, shard.handed.count > 0 ? bucket.from : ends.never)
  }
}

/** A process saw the clock move. */
export function quarantine(
  shard: Shard,
  reason: 'jump' | 'loss' | 'step',
  by: number,
  reporter: number,
): void {
  noteActivity(shard)
  if (reason === 'step') noteStep(shard, by, reporter)
  else if (reason === 'loss') noteLoss(shard, ANY_COST)
  else {
    shard.meta.quarantine = 0
    if (by <= 0) shard.meta.isRewinding = 1
  }
}

export function resign(shard: Shard, scheduler: number): void {
  const { meta, ends } = shard
  if (meta.leader !== 0 && meta.leader !== scheduler) return
  meta.leader = 0
  meta.leaderUntil = ends.never
}

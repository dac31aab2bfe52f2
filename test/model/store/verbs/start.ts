// As src/redis/verbs/start.lua and renew.lua.
import { startedBy, start as startJob } from '../grant.ts'
import { noteActivity } from '../lease.ts'
import { isHeld } from '../leave.ts'
import { reschedule } from '../line.ts'
import { GRANTED, RUNNING, type Shard } from '../shard.ts'

/** Returns whether the job is the caller's. */
export function start(shard: Shard, job: number, epoch: number, startedAt: number): boolean {
  const record = shard.jobs[job]!
  noteActivity(shard)
  const isSame = record.epoch === epoch || shard.has('start-without-epoch')
  const isMine = isSame && (record.state === GRANTED || record.state === RUNNING)
  if (isMine && record.state === GRANTED) {
    startJob(shard, job, startedBy(shard, startedAt))
    record.expiry = shard.ends.far
    reschedule(shard)
  }
  return isMine
}

/** Moves the end of a lease; returns whether the job is the caller's. */
export function renew(shard: Shard, job: number, epoch: number): boolean {
  const record = shard.jobs[job]!
  const isSame = record.epoch === epoch || shard.has('renew-without-epoch')
  const isMine = isSame && isHeld(record)
  if (isMine) record.lease = shard.setup.durations.lease
  return isMine
}

// As src/redis/scripts/lib/leave.lua, ended.lua and retention.lua.
import { hasLine, putBack, reschedule, rescheduleFrom } from './line.ts'
import {
  BACK,
  COMPLETED,
  HANDED,
  type Job,
  LINE,
  RETRY,
  RETRYING,
  RUNNING,
  type Shard,
  WAITING,
} from './shard.ts'
import * as usage from './usage.ts'

/** As Redis decides it for jobs: in the line, to be tried again, or handed over and without a slot. */
export function waits({ state }: Job): boolean {
  return state === WAITING || state === RETRYING || state === HANDED
}

export function isHeld({ state }: Job): boolean {
  return state >= HANDED && state <= RUNNING
}

export function isEnded({ state }: Job): boolean {
  return state >= COMPLETED
}

export function endJob(shard: Shard, job: number, how: number): void {
  const { far } = shard.ends
  Object.assign(shard.jobs[job]!, { state: how, endedAt: 0, expiry: far, lease: far })
}

export function endWaiting(shard: Shard, job: number, how: number): void {
  const record = shard.jobs[job]!
  if (record.state === HANDED) shard.handed.remove(job)
  else if (record.kind === LINE) shard.line.remove(job)
  endJob(shard, job, how)
  if (hasLine(shard) || shard.handed.count > 0) reschedule(shard)
  else rescheduleFrom(shard, shard.ends.never)
}

/** A job that was started waits again. */
export function waitAgain(shard: Shard, job: number, kind: number, readyAt: number, worker: number): void {
  const record = shard.jobs[job]!
  const { far } = shard.ends
  Object.assign(record, { state: RETRYING, kind, readyAt, worker, lease: far })
  if (record.deadline !== far) record.expiry = firstExpiry(shard, record.deadline)
  if (kind === RETRY && shard.has('retry-behind-line')) {
    Object.assign(record, { state: WAITING, kind: LINE })
    shard.line.push(job)
  }
}

export function firstExpiry({ limit, setup }: Shard, deadline: number): number {
  return deadline + limit.tolerance + setup.durations.moment
}

/** handed -> waiting | retrying, for the job and all that were handed over after it; returns them in their order. */
export function sendBack(shard: Shard, id: number): number[] {
  const { bucket, handed, ends } = shard
  const sent: number[] = []
  for (;;) {
    const last = handed.at(handed.count - 1)
    if (last === -1) return sent
    sent.unshift(last)
    const record = shard.jobs[last]!
    handed.remove(last)
    if (bucket.granted === last + 1) {
      forgetGrant(shard)
      record.attempt -= 1
    }
    shard.member?.hand(last, -1)
    if (record.kind !== BACK) bucket.linesTurn = record.kind === LINE ? 1 : 0
    putBack(shard, last)
    record.lease = ends.far
    if (last === id) return sent
  }
}

export function forgetGrant({ bucket, ends }: Shard): void {
  Object.assign(bucket, { granted: 0, grantedSlot: ends.never, grantedCost: 0 })
}

/** Forgets ended jobs beyond those that are kept, the oldest first. */
export function trimEnded(shard: Shard): void {
  const { keep, durations } = shard.setup
  const ended = shard.jobs.filter(isEnded)
  if (ended.length <= keep) return
  ended.sort((one, other) => one.endedAt - other.endedAt)
  for (const job of ended.slice(0, ended.length - keep)) {
    if (job.endedAt <= -durations.replay) shard.forgetJob(job)
  }
}

/** Nothing reads the bucket until it is used again, or forgotten. */
export function isIdle({ bucket, jobs }: Shard): boolean {
  return bucket.paused === 0 && !jobs.some(({ state }) => state >= WAITING && state <= RETRYING)
}

/** Forgets the bucket if it is empty and its state no longer affects a departure. */
export function forgetIdle(shard: Shard): void {
  const { bucket, meta } = shard
  if (bucket.exists === 0 || !isIdle(shard)) return
  const forgettableAt = Math.max(bucket.next, bucket.frozen, usage.forgettableAt(shard))
  if (forgettableAt <= -meta.stepBy) shard.forgetBucket()
}

// As src/redis/verbs/recover.lua, with resend.lua in scripts/lib, and expire.lua.
import { start } from '../grant.ts'
import { noteActivity } from '../lease.ts'
import { endJob, endWaiting, isHeld, sendBack, trimEnded, waitAgain, waits } from '../leave.ts'
import { reschedule } from '../line.ts'
import { countPlace } from '../places.ts'
import { BACK, EXPIRED, FAILED, GRANTED, HANDED, type Job, NO_ONE, type Shard } from '../shard.ts'
import { refund } from '../usage.ts'

const MOST_CRASHES = 3

export type Fate = 'waits' | 'crashed' | 'failed'

export interface Recovered {
  readonly job: number
  readonly epoch: number
  readonly fate: Fate
}

/** Whether `recover` has something to do. */
export function isRecoveryDue({ jobs }: Shard): boolean {
  return jobs.some((record) => record.lease <= 0 || isSentAgain(record))
}

/** Takes back the jobs whose leases have ended, and after a restart those that have no slot. */
export function recover(shard: Shard): Recovered[] {
  if (!shard.has('recovers-before-lifting')) noteActivity(shard)
  const recovered = sendAgain(shard)
  const over = dueJobs(shard, 'lease')
  for (const job of over) {
    const record = shard.jobs[job]!
    if (record.lease > 0 || shard.has('nothing-taken-back')) continue
    if (isHeld(record)) {
      recovered.push(...takeBack(shard, job))
      reschedule(shard)
    } else record.lease = shard.ends.far
  }
  if (shard.has('recovers-before-lifting')) noteActivity(shard)
  trimEnded(shard)
  return recovered
}

function isSentAgain({ isUnsure, state }: Job): boolean {
  return isUnsure === 1 && state === HANDED
}

function sendAgain(shard: Shard): Recovered[] {
  const { jobs } = shard
  const recovered: Recovered[] = []
  for (const job of sorted(shard, 'lease', () => true)) {
    const record = jobs[job]!
    if (!isSentAgain(record)) continue
    recovered.push(...sentBack(shard, job))
    reschedule(shard)
  }
  for (const record of jobs) record.isUnsure = 0
  return recovered
}

function sentBack(shard: Shard, id: number): Recovered[] {
  return sendBack(shard, id).map((job) => ({ job, epoch: shard.jobs[job]!.epoch, fate: 'waits' }))
}

/** The jobs whose time has come, the earliest first. */
function dueJobs(shard: Shard, time: 'lease' | 'expiry'): number[] {
  return sorted(shard, time, (record) => record[time] <= 0)
}

function sorted({ jobs }: Shard, time: 'lease' | 'expiry', isWanted: (record: Job) => boolean): number[] {
  const wanted = [...jobs.keys()].filter((job) => isWanted(jobs[job]!))
  return wanted.sort((one, other) => jobs[one]![time] - jobs[other]![time] || one - other)
}

function takeBack(shard: Shard, job: number): Recovered[] {
  const record = shard.jobs[job]!
  const { epoch } = record
  if (record.state === HANDED) return sentBack(shard, job)
  if (record.state === GRANTED) {
    record.isOnGrid = 0
    if (shard.has('lost-grant-is-free')) return sentBack(shard, job)
    start(shard, job, 0)
  }
  if (!shard.has('place-counter-leaks')) countPlace(shard, -1)
  if (shard.has('lost-attempt-is-refunded')) refund(shard, job)
  record.crashes += 1
  if (record.crashes >= MOST_CRASHES) {
    endJob(shard, job, FAILED)
    return [{ job, epoch, fate: 'failed' }]
  }
  record.attempt -= 1
  waitAgain(shard, job, BACK, shard.ends.never, NO_ONE)
  return [{ job, epoch, fate: 'crashed' }]
}

/** Ends the jobs whose deadline has passed; returns them. */
export function expire(shard: Shard): number[] {
  if (shard.meta.heardAt > 0) noteActivity(shard)
  const expired: number[] = []
  for (const job of dueJobs(shard, 'expiry')) {
    const record = shard.jobs[job]!
    if (record.state === GRANTED && !shard.has('expires-granted')) {
      record.expiry = shard.setup.durations.farthest
    } else if (waits(record) || record.state === GRANTED) {
      endWaiting(shard, job, EXPIRED)
      expired.push(job)
    } else record.expiry = shard.ends.far
  }
  trimEnded(shard)
  return expired
}

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
  readonly shard: Shard
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
  const recovered = recoverFrom([shard])
  if (shard.has('recovers-before-lifting')) noteActivity(shard)
  trimEnded(shard)
  return recovered
}

/** The same of several buckets of one shard. */
export function recoverFrom(shards: readonly Shard[]): Recovered[] {
  const recovered = sendAgain(shards)
  for (const { shard, job } of sorted(shards, 'lease', (record) => record.lease <= 0)) {
    const record = shard.jobs[job]!
    if (record.lease > 0 || shard.has('nothing-taken-back')) continue
    if (isHeld(record)) {
      recovered.push(...takeBack(shard, job))
      reschedule(shard)
    } else record.lease = shard.ends.far
  }
  return recovered
}

function isSentAgain({ isUnsure, state }: Job): boolean {
  return isUnsure === 1 && state === HANDED
}

function sendAgain(shards: readonly Shard[]): Recovered[] {
  const recovered: Recovered[] = []
  for (const { shard, job } of sorted(shards, 'lease', () => true)) {
    if (!isSentAgain(shard.jobs[job]!)) continue
    recovered.push(...sentBack(shard, job))
    reschedule(shard)
  }
  for (const { jobs } of shards) for (const record of jobs) record.isUnsure = 0
  return recovered
}

function sentBack(shard: Shard, id: number): Recovered[] {
  return sendBack(shard, id).map((job) => ({ shard, job, epoch: shard.jobs[job]!.epoch, fate: 'waits' }))
}

interface Wanted {
  readonly shard: Shard
  readonly job: number
}

/** The jobs of which `isWanted` says so, the earliest first. */
function sorted(
  shards: readonly Shard[],
  time: 'lease' | 'expiry',
  isWanted: (record: Job) => boolean,
): Wanted[] {
  const wanted = shards.flatMap((shard) =>
    [...shard.jobs.keys()].filter((job) => isWanted(shard.jobs[job]!)).map((job) => ({ shard, job })),
  )
  const at = ({ shard, job }: Wanted) => shard.jobs[job]![time]
  return wanted.sort((one, other) => at(one) - at(other) || one.job - other.job)
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
    return [{ shard, job, epoch, fate: 'failed' }]
  }
  record.attempt -= 1
  waitAgain(shard, job, BACK, shard.ends.never, NO_ONE)
  return [{ shard, job, epoch, fate: 'crashed' }]
}

/** Ends the jobs whose deadline has passed; returns them. */
export function expire(shard: Shard): number[] {
  if (shard.meta.heardAt > 0) noteActivity(shard)
  const expired: number[] = []
  for (const { job } of sorted([shard], 'expiry', ({ expiry }) => expiry <= 0)) {
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

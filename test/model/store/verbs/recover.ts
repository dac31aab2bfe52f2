// As src/redis/verbs/recover.lua and expire.lua.
import { start } from '../grant.ts'
import { noteActivity } from '../lease.ts'
import { endJob, endWaiting, isHeld, sendBack, trimEnded, waitAgain, waits } from '../leave.ts'
import { reschedule } from '../line.ts'
import { BACK, EXPIRED, FAILED, GRANTED, HANDED, NO_ONE, type Shard } from '../shard.ts'

const MOST_CRASHES = 3

export type Fate = 'waits' | 'crashed' | 'failed'

export interface Recovered {
  readonly job: number
  readonly epoch: number
  readonly fate: Fate
}

/** Takes back the jobs whose leases have ended. */
export function recover(shard: Shard): Recovered[] {
  if (!shard.has('recovers-before-lifting')) noteActivity(shard)
  const recovered: Recovered[] = []
  const over = dueJobs(shard, 'lease')
  for (const job of over) {
    const record = shard.jobs[job]!
    if (record.lease > 0 || shard.has('nothing-taken-back')) continue
    if (isHeld(record)) {
      const { epoch } = record
      const fate = takeBack(shard, job)
      reschedule(shard)
      recovered.push({ job, epoch, fate })
    } else record.lease = shard.ends.far
  }
  if (shard.has('recovers-before-lifting')) noteActivity(shard)
  trimEnded(shard)
  return recovered
}

/** The jobs whose time has come, the earliest first. */
function dueJobs({ jobs }: Shard, time: 'lease' | 'expiry'): number[] {
  const due = [...jobs.keys()].filter((job) => jobs[job]![time] <= 0)
  return due.sort((one, other) => jobs[one]![time] - jobs[other]![time] || one - other)
}

function takeBack(shard: Shard, job: number): Fate {
  const record = shard.jobs[job]!
  if (record.state === HANDED) {
    sendBack(shard, job)
    return 'waits'
  }
  if (record.state === GRANTED) {
    record.isOnGrid = 0
    if (shard.has('lost-grant-is-free')) {
      sendBack(shard, job)
      return 'waits'
    }
    start(shard, job, 0)
  }
  record.crashes += 1
  if (record.crashes >= MOST_CRASHES) {
    endJob(shard, job, FAILED)
    return 'failed'
  }
  record.attempt -= 1
  waitAgain(shard, job, BACK, shard.ends.never, NO_ONE)
  return 'crashed'
}

/** Ends the jobs whose deadline has passed; returns them. */
export function expire(shard: Shard): number[] {
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

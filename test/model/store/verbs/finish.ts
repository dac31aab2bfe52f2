// As src/redis/verbs/finish.lua.
import { start, startedBy } from '../grant.ts'
import { noteActivity } from '../lease.ts'
import { endJob, sendBack, trimEnded, waitAgain } from '../leave.ts'
import { hasLine, reschedule, rescheduleFrom } from '../line.ts'
import { freeze, unreserve } from '../pace.ts'
import { countPlace } from '../places.ts'
import {
  ABSENT,
  BACK,
  COMPLETED,
  FROZEN,
  GRANTED,
  HANDED,
  NO_ONE,
  RETRY,
  RETRYING,
  RUNNING,
  type Shard,
} from '../shard.ts'
import * as usage from '../usage.ts'

export type Outcome = 'completed' | 'retry' | 'freeze' | 'back'

export interface FinishCall {
  readonly job: number
  readonly epoch: number
  readonly worker: number
  /** When it started, where the store may not know it yet. */
  readonly startedAt?: number | undefined
  readonly outcome: Outcome
  /** Until a retry is ready, of the freeze, or until what is given back may come again. */
  readonly delay: number
}

/** Returns whether the job was the caller's. */
export function finish(shard: Shard, call: FinishCall): boolean {
  noteActivity(shard)
  const isMine = report(shard, call)
  trimEnded(shard)
  return isMine
}

/** The same report again: the first answer was lost. */
function isAnswered({ state, kind, worker }: Shard['jobs'][number], outcome: Outcome): boolean {
  if (outcome === 'completed') return state === COMPLETED
  if (state !== RETRYING) return false
  return outcome === 'retry' ? kind === RETRY : outcome === 'freeze' && kind === BACK && worker === FROZEN
}

function report(shard: Shard, call: FinishCall): boolean {
  const { bucket } = shard
  const { job, epoch, outcome, worker, startedAt, delay } = call
  const record = shard.jobs[job]!
  const ignoresEpoch = shard.has(outcome === 'back' ? 'back-without-epoch' : 'finish-without-epoch')
  if (record.state === ABSENT || (record.epoch !== epoch && !ignoresEpoch)) return false
  if (bucket.exists === 0) return isAnswered(record, outcome)
  if (outcome === 'back') {
    if (record.state !== HANDED && record.state !== GRANTED) return false
    const isOthers = record.state === GRANTED && record.worker !== worker
    if (isOthers && !shard.has('back-without-worker')) return false
    if (record.state === GRANTED) unreserve(shard)
    sendBack(shard, job)
    if (delay > 0) bucket.from = Math.max(bucket.from, delay)
    reschedule(shard)
    return true
  }
  const hasBegun = record.state === GRANTED && startedAt !== undefined
  if (hasBegun) start(shard, job, startedBy(shard, startedAt))
  if (record.state !== RUNNING) {
    const isKnown = isAnswered(record, outcome)
    if (isKnown && shard.has('place-counted-twice')) countPlace(shard, -1)
    return isKnown
  }
  countPlace(shard, -1)
  const hadLine = hasLine(shard) || shard.handed.count > 0
  if (outcome === 'completed') endJob(shard, job, COMPLETED)
  else if (outcome === 'retry') waitAgain(shard, job, RETRY, delay, NO_ONE)
  else {
    if (delay > 0) freeze(shard, delay)
    bucket.from = shard.ends.never
    record.attempt -= 1
    waitAgain(shard, job, BACK, shard.ends.never, FROZEN)
  }
  if (!hadLine) rescheduleFrom(shard, shard.ends.never)
  else if (outcome !== 'completed' || hasBegun || usage.hasParts(shard)) reschedule(shard)
  return true
}

// As src/redis/verbs/gate.lua.
import { type Granted, grant, ungrant } from '../grant.ts'
import { guardRun } from '../lease.ts'
import { endWaiting, sendBack, trimEnded } from '../leave.ts'
import { reschedule } from '../line.ts'
import { EXPIRED, GRANTED, HANDED, type Shard } from '../shard.ts'

export interface GateCall {
  readonly job: number
  readonly epoch: number
  readonly worker: number
  /** The slot that it was granted before and missed. */
  readonly missed?: number | undefined
  readonly fence: () => number
  /** What the call compares was compared before, in a step of its own. */
  readonly isChecked?: boolean
}

export type GateAnswer =
  | ({ readonly kind: 'granted' } & Granted)
  | { readonly kind: 'wait' | 'returned' | 'expired' | 'stale' }

export function gate(shard: Shard, call: GateCall): GateAnswer {
  guardRun(shard)
  const answer = answerOf(shard, call)
  trimEnded(shard)
  return answer
}

/** Whether the job is the caller's. */
export function mayAsk(shard: Shard, { job, epoch, worker }: GateCall): boolean {
  const { state, ...record } = fieldsOf(shard, job)
  if (!shard.has('gate-without-epoch') && record.epoch !== epoch) return false
  return state === HANDED || (state === GRANTED && record.worker === worker)
}

function fieldsOf(shard: Shard, job: number) {
  const { state, epoch, worker } = shard.jobs[job]!
  return { state, epoch, worker }
}

function answerOf(shard: Shard, call: GateCall): GateAnswer {
  const { bucket, setup, limit } = shard
  const { job, epoch, worker, missed } = call
  const { farthest, lease, replay } = setup.durations
  const record = shard.jobs[job]!
  const isReplay = record.state === EXPIRED && record.epoch === epoch && record.worker === worker
  if (isReplay && record.endedAt > -replay) return { kind: 'expired' }
  const isHeld = record.state === HANDED || record.state === GRANTED
  const looksAgain = shard.has('places-read-before') || shard.has('quota-read-before')
  const isUnchecked = call.isChecked && !looksAgain
  if (isUnchecked ? !isHeld : !mayAsk(shard, call)) return { kind: 'stale' }
  if (shard.handed.at(0) !== job) {
    if (!shard.has('gate-any-order') || bucket.granted !== 0) {
      record.lease = lease
      return { kind: 'wait' }
    }
  }
  const isFirst = record.state === HANDED
  if (isFirst && shard.member?.isBusy()) {
    record.lease = lease
    return { kind: 'wait' }
  }
  const isMoved = record.slot > farthest || record.slot < -farthest || missed === record.slot
  const isVoid =
    isMoved || bucket.paused === 1 || bucket.frozen > 0 || (!isFirst && shard.member !== undefined)
  if (!isFirst && isVoid) ungrant(shard, job)
  let granted = {
    slot: record.slot,
    startAt: Math.max(record.slot, 0),
    latest: shard.ends.far,
  }
  if (record.state === HANDED) {
    const found = bucket.paused === 1 ? undefined : grant(shard, job, worker, call.isChecked)
    if (found === undefined) {
      if (!isFirst) record.attempt -= 1
      sendBack(shard, job)
      reschedule(shard)
      return { kind: 'returned' }
    }
    if (found.startAt > record.deadline + limit.tolerance) {
      ungrant(shard, job)
      if (!isFirst) record.attempt -= 1
      record.worker = worker
      endWaiting(shard, job, EXPIRED)
      return { kind: 'expired' }
    }
    if (isFirst) {
      record.attempt += 1
      record.fence = call.fence()
      record.isMoved = 0
    }
    granted = found
  }
  record.lease = lease
  return { kind: 'granted', ...granted }
}

// As src/redis/scripts/lib/grant.lua.
import { forgetGrant } from './leave.ts'
import {
  farthestNext,
  type Paced,
  reserveDue,
  setNext,
  spacingAfterSlot,
  spacingAfterStart,
  unreserve,
} from './pace.ts'
import { countPlace, isFull } from './places.ts'
import { GRANTED, HANDED, RUNNING, type Shard } from './shard.ts'
import * as usage from './usage.ts'

function postponeAfter(shard: Clocked, since: number, gap: number): void {
  const { bucket, setup } = shard
  const until = since + (shard.has('short-quarantine') ? gap / 2 : gap)
  if (since <= setup.durations.heardEach && until > 0 && until > bucket.next) bucket.next = until
}

/** A bucket or a total, and what is known of the clock and of losses. */
export type Clocked = Paced & Pick<Shard, 'meta' | 'ends' | 'has'>

/** Corrects the bucket after a clock that was moved, or a loss. */
export function allowForClock(shard: Clocked): void {
  const { bucket, meta, limit, ends, setup } = shard
  bucket.next = Math.min(bucket.next, farthestNext(shard))
  const known = Math.max(spacingAfterSlot(shard), spacingAfterStart(shard))
  const gapAfter = (cost: number) => {
    return Math.max(known, limit.interval * Math.min(limit.capacity, Math.max(1, cost)))
  }
  const costliest = bucket.lastStart === ends.never ? meta.costliest : 1
  if (meta.quarantine !== ends.never) postponeAfter(shard, meta.quarantine, gapAfter(costliest))
  allowForStep(shard)
  if (meta.lostAt !== ends.never) {
    const lostSlot = shard.has('lost-slot-forgotten') ? 0 : 2 * setup.durations.farthest
    postponeAfter(shard, meta.lostAt, lostSlot + gapAfter(meta.lostCost))
  }
}

function allowForStep(shard: Clocked): void {
  const { bucket, meta, ends } = shard
  if (meta.stepAt === ends.never || bucket.lastStart >= meta.stepAt) return
  if (bucket.lastStart === ends.never) postponeAfter(shard, meta.stepAt, meta.stepBy)
  else postponeAfter(shard, bucket.lastStart, spacingAfterStart(shard) + meta.stepBy)
}

export interface Granted {
  readonly slot: number
  readonly startAt: number
  /** Until when totals let it start. */
  readonly latest: number
}

/** Reserves a slot; undefined where it is too far away. */
export function grant(shard: Shard, job: number, worker: number, isChecked = false): Granted | undefined {
  const { bucket, setup, ends } = shard
  const record = shard.jobs[job]!
  allowForClock(shard)
  usage.clamp(shard)
  const hasPlace = isChecked && shard.has('places-read-before')
  if (!hasPlace && isFull(shard)) return undefined
  const frozen = bucket.frozen
  if (shard.has('gate-ignores-freeze')) bucket.frozen = ends.never
  const byPace = Math.max(bucket.from, bucket.next, bucket.frozen, record.floor)
  const hasRoom = isChecked && shard.has('quota-read-before')
  const [own, due] = hasRoom
    ? [Math.max(0, record.readyAt), byPace]
    : usage.dueAt(shard, job, byPace, Math.max(0, record.readyAt))
  const earliest = shard.member === undefined ? own : shard.member.earliest(job, Math.max(due, own))
  if (earliest === undefined) return undefined
  const { next, lastCost } = bucket
  const [slot, isOnGrid] = reserveDue(shard, shard.cost(job), due, earliest)
  const afterStart = bucket.lastStart + setup.durations.even * spacingAfterStart(shard)
  const startAt = Math.max(slot, earliest, afterStart)
  bucket.frozen = frozen
  if (startAt > setup.durations.farthest) {
    Object.assign(bucket, { next, lastCost })
    return undefined
  }
  Object.assign(bucket, {
    from: ends.never,
    granted: job + 1,
    grantedSlot: slot,
    grantedCost: shard.cost(job),
  })
  usage.drop(shard)
  usage.chargeSlot(shard, 1)
  const latest = shard.member?.reserve(job, startAt) ?? ends.far
  Object.assign(record, { state: GRANTED, slot, isOnGrid: Number(isOnGrid), isSettled: 0, worker })
  return { slot, startAt, latest }
}

/** Takes the slot away from a job that has not started. */
export function ungrant(shard: Shard, job: number): void {
  unreserve(shard)
  forgetGrant(shard)
  shard.jobs[job]!.state = HANDED
}

/** When a job was started, by its worker's report: what cannot be by this clock counts as now. */
export function startedBy({ meta, setup, ends }: Shard, at: number): number {
  const moved = Math.max(meta.quarantine, meta.stepAt)
  return at > setup.durations.farthest || (moved !== ends.never && at < moved) ? 0 : at
}

/** granted -> running at the time `at`. */
export function start(shard: Shard, job: number, at: number): void {
  const { bucket, limit, setup } = shard
  const record = shard.jobs[job]!
  const { farthest, clockAllowance } = setup.durations
  const tolerated = limit.tolerance - Math.min(clockAllowance, limit.tolerance / 4)
  const slot = Math.min(record.slot, at + farthest)
  const isLate = record.isOnGrid === 0 || at - slot > tolerated
  if (isLate && !shard.has('late-slot-kept')) {
    bucket.lastCost = shard.cost(job)
    setNext(shard, Math.max(at, slot))
  }
  usage.moveTo(shard, at)
  shard.member?.start(job, at)
  shard.handed.remove(job)
  forgetGrant(shard)
  bucket.lastStart = at
  bucket.startedCost = shard.cost(job)
  record.state = RUNNING
  record.departedAt = at
  countPlace(shard, 1)
}

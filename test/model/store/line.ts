// As src/redis/scripts/lib/line.lua, head.lua and handover.lua.
import { nextSlot } from './pace.ts'
import { isFull } from './places.ts'
import { BACK, LINE, RETRY, RETRYING, type Shard, WAITING } from './shard.ts'
import * as usage from './usage.ts'

/** The jobs of one kind that stand in the sorted sets `:retry` or `:back`, the first first. */
export function returned(shard: Shard, kind: number): number[] {
  const found: number[] = []
  for (const [job, record] of shard.jobs.entries()) {
    if (record.state === RETRYING && record.kind === kind) found.push(job)
  }
  if (found.length < 2) return found
  const score = (job: number) => (kind === RETRY ? shard.jobs[job]!.readyAt : shard.jobs[job]!.fence)
  return found.sort((one, other) => score(one) - score(other) || one - other)
}

export function unitsOf(shard: Shard, jobs: readonly number[]): number {
  let units = 0
  for (const job of jobs) units += shard.cost(job)
  return units
}

/** Cost units that were handed over and have no slot. */
export function handedUnits(shard: Shard): number {
  return unitsOf(shard, shard.handed.toArray()) - shard.bucket.grantedCost
}

export function waitingUnits(shard: Shard): number {
  let units = unitsOf(shard, shard.line.toArray()) + unitsOf(shard, shard.handed.toArray())
  for (const [job, { state }] of shard.jobs.entries()) if (state === RETRYING) units += shard.cost(job)
  return units
}

export function hasLine(shard: Shard): boolean {
  return shard.line.count > 0 || returned(shard, BACK).length > 0
}

export function dueOf(shard: Shard): number {
  const { bucket, line, limit, ends } = shard
  const retries = returned(shard, RETRY)
  const isEmpty = line.count + retries.length + returned(shard, BACK).length === 0
  if (bucket.paused === 1 || isEmpty) return ends.far
  let slot = nextSlot(shard, bucket.from) + limit.interval * handedUnits(shard)
  if (!hasLine(shard)) slot = Math.max(slot, shard.jobs[retries[0]!]!.readyAt)
  const due = dueByParts(shard, peekHead(shard, slot)[0], slot)
  // A retry that is ready, and has room, before the head has room goes first.
  const [retry] = retries
  const mayPass = returned(shard, BACK).length === 0 && bucket.linesTurn === 0
  if (retry === undefined || !mayPass || due === ends.far) return due
  const { readyAt } = shard.jobs[retry]!
  return readyAt > slot && readyAt < due ? Math.min(due, dueByParts(shard, retry, readyAt)) : due
}

/** What was handed over takes a place and counts when it starts, which is before. */
export function dueByParts(shard: Shard, head: number, slot: number): number {
  if (head === -1) return slot
  if (isFull(shard, shard.has('places-read-before') ? 0 : shard.handed.count)) return shard.ends.far
  const charges = usage.chargesOf(shard, head)
  for (const other of shard.has('quota-read-before') ? [] : shard.handed.toArray()) {
    if (other + 1 === shard.bucket.granted) continue
    for (const [index, units] of usage.chargesOf(shard, other).entries()) charges[index]! += units
  }
  return usage.roomAt(shard, charges, slot)
}

export function reschedule(shard: Shard): void {
  scheduleAt(shard, dueOf(shard))
}

/** `schedule_due` and `unschedule_due`, and writes the bucket: below totals it stands with those, and not in `:due`. */
export function scheduleAt(shard: Shard, due: number): void {
  if (shard.member === undefined) shard.bucket.due = due
  else shard.member.stand(due)
}

export function rescheduleFrom(shard: Shard, from: number): void {
  shard.bucket.from = from
  reschedule(shard)
}

/** The job that departs at `at`, and its kind; -1: there is none. */
export function peekHead(shard: Shard, at: number): [number, number] {
  const back = returned(shard, BACK)
  if (back.length > 0) return [back[0]!, BACK]
  const { bucket, line } = shard
  const retries = returned(shard, RETRY)
  if (retries.length > 0 && (bucket.linesTurn === 0 || line.count === 0)) {
    const retry = retries[0]!
    if (shard.jobs[retry]!.readyAt <= at) return [retry, RETRY]
  }
  return [line.at(0), LINE]
}

/** The caller changes the state of the job, which takes it out of the sorted sets. */
export function takeHead(shard: Shard, job: number, kind: number): void {
  if (kind === LINE) {
    shard.line.remove(job)
    shard.bucket.linesTurn = 0
  } else if (kind === RETRY) shard.bucket.linesTurn = 1
}

export function putBack(shard: Shard, job: number): void {
  const record = shard.jobs[job]!
  if (record.kind === LINE) {
    record.state = WAITING
    shard.line.unshift(job)
  } else record.state = RETRYING
}

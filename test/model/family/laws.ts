import { ACCEPTED, DONE, REFUSED } from '../actors/world.ts'
import { isEnded } from '../store/leave.ts'
import { waitingUnits } from '../store/line.ts'
import { ABSENT, GRANTED, HANDED, LINE, RETRYING, RUNNING, WAITING } from '../store/shard.ts'
import type { FamilyEntry, FamilyWorld } from './actors/world.ts'

/** Judges the start of a handler, by a clock that is never moved. */
export function judgeStart(world: FamilyWorld, worker: number, entry: FamilyEntry): void {
  const { told, setup, cells, frozenUntil, paused } = world
  const job = entry.job - 1
  const record = world.record(job)
  const { bucket } = world.known(job)
  const own = told[job]!
  const isLate = entry.startAt < -setup.durations.farthest
  for (const place of world.limitsOf(job)) {
    judgeSpacing(world, job, place)
    const isHeld = own.isExempt === 0 || isLate
    if (cells[frozenUntil[place]!]! > 0 && isHeld) world.breaks('freeze')
    if (cells[paused[place]!] === 1 && isHeld) world.breaks('pause')
  }
  world.starts.judge(job)
  if (own.told !== ACCEPTED) world.breaks('L5 it ended, and starts')
  if (own.spare === 0) world.breaks('L5 one start too many')
  own.spare = Math.max(0, own.spare - 1)
  const isTheirs = record.state === GRANTED && record.worker === worker && record.epoch === entry.epoch
  if (!isTheirs) world.breaks('L8 start without a lease')
  const isOvertaken = (other: number) =>
    setup.jobs[other]!.of === bucket && world.isAccepted(other) && told[other]!.hasStarted === 0
  for (let other = 0; own.hasStarted === 0 && other < job; other++)
    if (isOvertaken(other)) world.breaks('L4 order')
  own.hasStarted = 1
  world.fairness.keep(job)
}

/** L2, of a bucket or a total. One that had its slot before the limit was changed may have it by either limit. */
function judgeSpacing(world: FamilyWorld, job: number, place: number): void {
  const { cells, earliest, earliestBefore, startedCosts, setup, told } = world
  const { cost } = setup.jobs[job]!
  const limits = world.limitsUpTo(place)
  const [of, before] = [earliest[place]!, earliestBefore[place]!]
  const due = cells[(told[job]!.grantedBefore & (1 << place)) === 0 ? of : before]!
  const isOfBucket = place < setup.buckets.length
  if (due - Math.max(...limits.map(({ tolerance }) => tolerance)) > 0)
    world.breaks(isOfBucket ? 'L2 spacing' : 'L2 spacing of a total')
  const slot = Math.max(due, 0)
  cells[of] = slot + limits.at(-1)!.interval * cost
  cells[before] = slot + Math.min(...limits.map(({ interval }) => interval)) * cost
  cells[startedCosts[place]!] = cost
}

/** The limit of a bucket or total has been changed. One that was idle has forgotten its last start. */
export function noteChange(world: FamilyWorld, place: number): void {
  const { cells, earliest, earliestBefore, startedCosts } = world
  const [before, after] = world.limitsUpTo(place).slice(-2)
  const more = (after!.interval - before!.interval) * cells[startedCosts[place]!]!
  if (cells[earliest[place]!]! > 0) cells[earliest[place]!]! += more
  if (cells[earliestBefore[place]!]! > 0) cells[earliestBefore[place]!]! += Math.min(0, more)
  for (const job of world.grantedBelow(place)) world.told[job]!.grantedBefore |= 1 << place
}

/** A job was accepted. */
export function judgeRoom(world: FamilyWorld, job: number): void {
  const { family } = world
  const { bucket, shard } = world.known(job)
  if (waitingUnits(shard) > shard.limit.capacity) world.breaks('L1 bound')
  for (const total of family.places[bucket]!.totals) {
    const below = family.places.filter(({ totals }) => totals.includes(total))
    const waiting = below.reduce((sum, place) => sum + waitingUnits(place.shard), 0)
    if (waiting > total.limit.capacity) world.breaks('L1 bound of a total')
  }
}

/** Notes what has ended, and judges what holds in every state. */
export function judgeState(world: FamilyWorld): void {
  const { told, family } = world
  world.starts.judgeCounted()
  for (const total of family.totals) {
    const below = family.places.filter(({ totals }) => totals.includes(total))
    const running = below.flatMap(({ shard }) => shard.jobs).filter(({ state }) => state === RUNNING)
    if (running.length > (total.limit.places ?? Number.POSITIVE_INFINITY)) world.breaks('L11 places')
  }
  for (const [job, own] of told.entries()) {
    const record = world.record(job)
    if (record.state !== GRANTED) Object.assign(own, { isExempt: 0, grantedBefore: 0 })
    const isLive = record.state !== ABSENT && !isEnded(record)
    if (isLive && own.told === DONE) world.breaks('L5 it ended, and lives')
    if (isEnded(record) && own.told === ACCEPTED) own.told = DONE
    if (!isLive && own.told === ACCEPTED) {
      world.breaks('L5 lost')
      own.told = REFUSED
    }
    if (isLive && !isPlaced(world, job)) world.breaks('L9 conservation')
    if (record.state === HANDED && own.isExcused === 0 && !isCarried(world, job))
      world.breaks('L5 not delivered')
  }
}

/** It stands in one place, and in that which its state says. */
function isPlaced(world: FamilyWorld, job: number): boolean {
  const { shard, index } = world.known(job)
  const { state, kind } = shard.jobs[index]!
  const [inLine, inHanded] = [shard.line.has(index), shard.handed.has(index)]
  if (state === WAITING) return inLine && !inHanded && kind === LINE
  if (state === HANDED || state === GRANTED) {
    return inHanded && !inLine && (shard.bucket.granted === index + 1) === (state === GRANTED)
  }
  return !inHanded && !inLine && (state === RUNNING || (state === RETRYING && kind !== LINE))
}

/** A scheduler or worker has it, or it is on its way. */
function isCarried(world: FamilyWorld, job: number): boolean {
  const { epoch } = world.record(job)
  return world.references.some((reference) => reference.job === job + 1 && reference.epoch === epoch)
}

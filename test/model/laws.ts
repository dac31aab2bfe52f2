import { ACCEPTED, DONE, type Entry, LAPSED, REFUSED, WITHDRAWN, type World } from './actors/world.ts'
import { isEnded } from './store/leave.ts'
import { ABSENT, CANCELLED, EXPIRED, GRANTED, HANDED, LINE, RUNNING, WAITING } from './store/shard.ts'
import { quotasOf } from './store/usage.ts'

/** Judges the start of a handler, by a clock that is never moved. */
export function judgeStart(world: World, worker: number, entry: Entry): void {
  const { shard, globals, told, setup } = world
  const job = entry.job - 1
  const record = shard.jobs[job]!
  const own = told[job]!
  const limits = setup.limits.slice(0, shard.meta.book + 1)
  const tolerance = Math.max(...limits.map((limit) => limit.tolerance))
  if (globals.tat - tolerance > 0) world.breaks('L2 spacing')
  const isTheirs = record.state === GRANTED && record.worker === worker && record.epoch === entry.epoch
  const cost = isTheirs ? shard.cost(job) : Math.min(shard.cost(job), globals.knownCost)
  globals.tat = Math.max(globals.tat, 0) + shard.limit.interval * cost
  globals.startedCost = cost
  const known = isTheirs || globals.isLossy === 0 ? undefined : globals
  if (!world.ledger.note(shard, job, known) && globals.knownTokens > 0) world.breaks('L10 quota')

  const isLate = entry.startAt < -setup.durations.farthest
  if (globals.frozenUntil > 0 && (own.isExempt === 0 || isLate)) world.breaks('freeze')
  const isLossy = globals.isLossy === 1
  if (own.told !== ACCEPTED && !isLossy) world.breaks('L5 it ended, and starts')
  if (own.spare === 0 && !isLossy) world.breaks('L5 one start too many')
  own.spare = Math.max(0, own.spare - 1)
  if (!isTheirs && !isLossy) world.breaks('L8 start without a lease')
  const isOvertaken = (other: number) =>
    told[other]!.told === ACCEPTED && told[other]!.hasStarted === 0 && !isEnded(shard.jobs[other]!)
  if (own.hasStarted === 0 && !isLossy) {
    for (let other = 0; other < job; other++) if (isOvertaken(other)) world.breaks('L4 order')
  }
  own.hasStarted = 1
  for (const { entries } of world.workers)
    for (const held of entries) if (held.job === entry.job) held.isLatest = 0
  if (world.late.job === entry.job) world.late.isLatest = 0
  entry.isLatest = 1
}

/**
 * The store went back to what it held before. It waits for the costliest job of which it still knows, from the loss on: of a
 * costlier one that was admitted and started since, nothing is left by which it could wait for longer. The same holds of what counts in
 * quotas, where no more is lost than what they allow for.
 */
export function judgeRollback({ globals, shard, setup, ledger }: World): void {
  globals.knownCost = Math.max(1, shard.meta.costliest)
  globals.tat = Math.min(globals.tat, shard.limit.interval * globals.knownCost)
  const isLongAgo = globals.copiedAt < -setup.durations.lost
  const each = Math.max(1, ...quotasOf(shard.limit).map((quota) => quota.each ?? 1))
  globals.knownTokens = isLongAgo ? 0 : Math.max(each, shard.meta.mostTokens)
  if (isLongAgo) ledger.clear()
  else ledger.forgetCosts(globals.copiedAt, globals)
}

/** Notes what has ended, and judges what holds in every state. */
export function judgeState(world: World): void {
  const { shard, told, globals } = world
  const { places = Number.POSITIVE_INFINITY } = shard.limit
  const running = shard.jobs.filter(({ state }) => state === RUNNING).length
  if (running > places && globals.isLossy === 0) world.breaks('L11 places')
  if (!world.ledger.coversUse(shard)) world.breaks('L10 charged for nothing')
  for (const [job, record] of shard.jobs.entries()) {
    const own = told[job]!
    if (record.state !== GRANTED) own.isExempt = 0
    const isLive = record.state !== ABSENT && !isEnded(record)
    if (isLive && own.told >= DONE && own.told <= LAPSED && globals.isLossy === 0)
      world.breaks('L5 it ended, and lives')
    if (isEnded(record) && own.told === ACCEPTED) {
      own.told = record.state === CANCELLED ? WITHDRAWN : record.state === EXPIRED ? LAPSED : DONE
    }
    if (!isLive && own.told === ACCEPTED) {
      if (globals.isLossy === 0) world.breaks('L5 lost')
      own.told = REFUSED
    }
    if (isLive && !isPlaced(world, job)) world.breaks('L9 conservation')
    if (record.state === HANDED && own.isExcused === 0 && !isCarried(world, job))
      world.breaks('L5 not delivered')
  }
}

/** It stands in one place, and in that which its state says. */
function isPlaced({ shard }: World, job: number): boolean {
  const { state, kind } = shard.jobs[job]!
  const inLine = shard.line.has(job)
  const inHanded = shard.handed.has(job)
  if (state === WAITING) return inLine && !inHanded && kind === LINE
  if (state === HANDED) return inHanded && !inLine && shard.bucket.granted !== job + 1
  if (state === GRANTED) return inHanded && !inLine && shard.bucket.granted === job + 1
  if (state === RUNNING) return !inHanded && !inLine
  return !inHanded && !inLine && kind !== LINE
}

/** A scheduler or worker has it, or it is on its way. */
function isCarried(world: World, job: number): boolean {
  const { epoch } = world.shard.jobs[job]!
  for (const reference of world.references) {
    if (reference.job === job + 1 && reference.epoch === epoch) return true
  }
  return false
}

/** A fault hit what brings the jobs to workers. */
export function excuse({ told }: World, job: number): void {
  told[job]!.isExcused = 1
}

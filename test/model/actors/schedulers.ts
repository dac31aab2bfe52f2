import { isEnded } from '../store/leave.ts'
import { returned } from '../store/line.ts'
import { LINE, RETRY } from '../store/shard.ts'
import { windowOf } from '../store/verbs/claim.ts'
import { isRecoveryDue, type Recovered } from '../store/verbs/recover.ts'
import { PLACES, type Step, type Transition, VERBS } from './transition.ts'
import { GATED, SCHEDULERS, type Scheduler, type World } from './world.ts'

const ways = () => SCHEDULERS
const describe = (_: World, way: number) => `scheduler ${way + 1}`

export const LATE_CLAIM = 1

function mayCall(world: World, scheduler: Scheduler): boolean {
  return scheduler.state.isStopped === 0 && world.globals.isAway === 0
}

/** Claims, and judges what was handed over. */
export function claimFor({ world, calls }: Step, scheduler: number): readonly number[] | undefined {
  const { shard, told } = world
  const ready = returned(shard, RETRY).filter((job) => shard.jobs[job]!.readyAt <= 0)
  const epochs = world.references.map(({ job, epoch }) => job * 1_000 + epoch)
  const isNew = shard.jobs.map(({ epoch }) => epoch === 0)
  const handed = calls.claim(scheduler)
  if (handed === undefined) return undefined
  for (const job of handed) {
    const { kind, epoch } = shard.jobs[job]!
    told[job]!.isExcused = 0
    if (epochs.includes((job + 1) * 1_000 + epoch)) world.breaks('epoch used again')
    if (kind === LINE && isNew[job]) passBy(world, ready, handed, job)
    if (told[job]!.isRetry === 1) told[job]!.passed = 0
  }
  if (shard.handed.count > windowOf(shard)) world.breaks('window')
  return handed
}

/** A job was handed over for the first time: a retry that was ready may let one go before it, and not two. */
function passBy(world: World, ready: readonly number[], handed: readonly number[], job: number): void {
  for (const [retry, record] of world.told.entries()) {
    if (record.isRetry === 0 || isEnded(world.shard.jobs[retry]!)) continue
    const wentFirst = handed.includes(retry) && handed.indexOf(retry) < handed.indexOf(job)
    const isReady = ready.includes(retry) || world.shard.line.has(retry)
    if (!isReady || wentFirst) continue
    record.passed |= 1 << job
    if ((record.passed & (record.passed - 1)) !== 0) world.breaks('retry keeps its place')
  }
}

const claim: Transition = {
  name: 'claims',
  verb: VERBS.claim,
  ways,
  describe,
  take(step, way) {
    const scheduler = step.world.schedulers[way]!
    if (!mayCall(step.world, scheduler) || scheduler.claimed[0]!.job !== 0) return false
    const handed = claimFor(step, way + 1) ?? []
    for (const [place, job] of handed.entries()) {
      Object.assign(scheduler.claimed[place]!, { job: job + 1, epoch: step.world.shard.jobs[job]!.epoch })
    }
    return true
  },
}

const claimUnheard: Transition = {
  name: 'claims, and the answer is lost',
  verb: VERBS.claim,
  isFault: true,
  ways,
  describe,
  take(step, way) {
    const scheduler = step.world.schedulers[way]!
    if (!mayCall(step.world, scheduler) || scheduler.claimed[0]!.job !== 0) return false
    if (!step.world.spend('lost')) return false
    const handed = claimFor(step, way + 1) ?? []
    for (const job of handed) step.world.told[job]!.isExcused = 1
    return handed.length > 0
  },
}

const claimLate: Transition = {
  name: 'claims, and the call is delayed',
  verb: VERBS.claim,
  isFault: true,
  ways,
  describe,
  take({ world }, way) {
    if (!mayCall(world, world.schedulers[way]!) || world.late.verb !== 0 || !world.spend('late')) return false
    Object.assign(world.late, { verb: LATE_CLAIM, worker: way + 1 })
    return true
  },
}

/** Adds what was claimed to BullMQ; a job there is known by its id and epoch. */
function add(world: World, { claimed }: Scheduler): boolean {
  for (const pair of claimed) {
    if (pair.job === 0) continue
    const isThere = world.deliveries.some(
      ({ job, epoch }) =>
        job === pair.job && (epoch === pair.epoch || world.shard.has('delivery-id-without-epoch')),
    )
    const free = world.deliveries.find(({ job }) => job === 0)
    if (free === undefined && !isThere) return false
    if (!isThere) Object.assign(free!, { job: pair.job, epoch: pair.epoch })
    Object.assign(pair, { job: 0, epoch: 0 })
  }
  return true
}

const hand: Transition = {
  name: 'hands over what it claimed',
  verb: PLACES.hand,
  ways,
  describe,
  take({ world }, way) {
    const scheduler = world.schedulers[way]!
    return mayCall(world, scheduler) && scheduler.claimed[0]!.job !== 0 && add(world, scheduler)
  },
}

/** A job whose worker was hit by a fault may start once more. */
function credit(world: World, { job, epoch, fate }: Recovered): void {
  const told = world.told[job]!
  if (fate === 'waits') return
  told.hasStarted = 1
  const holders = world.workers.flatMap(({ entries }) => entries)
  const holder = holders.find(
    (entry) => entry.job === job + 1 && entry.epoch === epoch && entry.phase >= GATED,
  )
  if (holder === undefined || holder.isHit === 1 || world.globals.isLossy === 1) {
    told.spare = Math.min(3, told.spare + 1)
  }
}

const recover: Transition = {
  name: 'takes back what has lost its lease',
  verb: VERBS.recover,
  ways,
  describe,
  take({ world, calls }, way) {
    if (!mayCall(world, world.schedulers[way]!) || !isRecoveryDue(world.shard)) return false
    const { granted } = world.shard.bucket
    for (const lost of calls.recover()) {
      credit(world, lost)
      if (lost.fate !== 'waits' && granted === lost.job + 1) world.ledger.noteLost(world.shard, lost.job)
      for (const delivery of world.deliveries) {
        if (delivery.job === lost.job + 1 && delivery.epoch === lost.epoch)
          Object.assign(delivery, { job: 0, epoch: 0 })
      }
    }
    return true
  },
}

const expire: Transition = {
  name: 'ends what has expired',
  verb: VERBS.expire,
  ways,
  describe,
  take({ world, calls }, way) {
    const isDue = world.shard.jobs.some(({ expiry }) => expiry <= 0)
    if (!mayCall(world, world.schedulers[way]!) || !isDue) return false
    calls.expire()
    return true
  },
}

const resign: Transition = {
  name: 'resigns',
  verb: VERBS.resign,
  ways,
  describe,
  take({ world, calls }, way) {
    const scheduler = world.schedulers[way]!
    if (!mayCall(world, scheduler) || world.shard.meta.leader !== way + 1) return false
    if (scheduler.claimed[0]!.job !== 0) return false
    calls.resign(way + 1)
    return true
  },
}

export const schedulers = [claim, claimUnheard, claimLate, hand, recover, expire, resign]

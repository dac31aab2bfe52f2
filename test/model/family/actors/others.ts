import { letters, PLACES, VERBS } from '../../actors/transition.ts'
import {
  ACCEPTED,
  ENDING,
  ENDING_REPORTED,
  FREE,
  GATED,
  QUEUED,
  REFUSED,
  STARTED,
  UNASKED,
} from '../../actors/world.ts'
import { GONE, HANDED } from '../../store/shard.ts'
import { isRecoveryDue } from '../../store/verbs/recover.ts'
import { judgeRoom } from '../laws.ts'
import { type FamilyTransition, hasReservation } from './workers.ts'
import type { FamilyEntry, FamilyPair, FamilyWorker, FamilyWorld } from './world.ts'

const once = { ways: () => 1 }
const ofJobs = {
  ways: ({ setup }: FamilyWorld) => setup.jobs.length,
  describe: (_: FamilyWorld, job: number) => `job ${letters[job]}`,
}
const ofSchedulers = {
  ways: ({ setup }: FamilyWorld) => setup.schedulers,
  describe: (_: FamilyWorld, way: number) => `scheduler ${way + 1}`,
}
const ofWorkers = {
  ways: ({ setup }: FamilyWorld) => setup.workers,
  describe: (_: FamilyWorld, way: number) => `worker ${way + 1}`,
}

/** Jobs of a bucket come in the order of their letters, since it does not matter which is which. */
function isNext({ told, setup }: FamilyWorld, job: number): boolean {
  const { of } = setup.jobs[job]!
  const isBefore = (other: number) => other < job && setup.jobs[other]!.of === of
  return told.every((one, other) =>
    isBefore(other) ? one.told !== UNASKED : other !== job || one.told === UNASKED,
  )
}

const admit: FamilyTransition = {
  name: 'a producer enqueues',
  verb: VERBS.admit,
  ...ofJobs,
  take({ world, calls }, job) {
    if (!isNext(world, job)) return false
    const isAccepted = calls.admit(job) === 'yes'
    Object.assign(world.told[job]!, isAccepted ? { told: ACCEPTED, spare: 1 } : { told: REFUSED })
    if (isAccepted) judgeRoom(world, job)
    return true
  },
}

function claim(isHeard: boolean): FamilyTransition {
  return {
    name: `claims${isHeard ? '' : ', and the answer is lost'}`,
    verb: VERBS.claim,
    isFault: !isHeard,
    ...ofSchedulers,
    take({ world, calls }, way) {
      const claimed = world.schedulers[way]!
      if (claimed[0]!.job !== 0 || (!isHeard && !world.spend('lost'))) return false
      const jobs = calls.claim(way + 1) ?? []
      for (const [place, job] of jobs.entries()) {
        world.told[job]!.isExcused = isHeard ? 0 : 1
        if (isHeard) Object.assign(claimed[place]!, { job: job + 1, epoch: world.record(job).epoch })
      }
      return isHeard || jobs.length > 0
    },
  }
}

const hand: FamilyTransition = {
  name: 'hands over what it claimed',
  verb: PLACES.hand,
  ...ofSchedulers,
  take({ world }, way) {
    const claimed = world.schedulers[way]!
    if (claimed[0]!.job === 0) return false
    for (const pair of claimed) {
      if (pair.job === 0) continue
      const free = world.deliveries.find(({ job }) => job === 0)
      if (free === undefined) return false
      Object.assign(free, { job: pair.job, epoch: pair.epoch })
      Object.assign(pair, { job: 0, epoch: 0 })
    }
    return true
  },
}

const recover: FamilyTransition = {
  name: 'takes back what has lost its lease',
  verb: VERBS.recover,
  ...ofSchedulers,
  take({ world, calls }) {
    if (!world.family.shards.some((shard) => isRecoveryDue(shard))) return false
    for (const { job, epoch, fate } of calls.recover()) {
      const told = world.told[job]!
      if (fate === 'waits') world.fairness.giveBack(job)
      else credit(world, job, epoch)
      if (fate !== 'waits') told.hasStarted = 1
      for (const delivery of world.deliveries)
        if (delivery.job === job + 1 && delivery.epoch === epoch)
          Object.assign(delivery, { job: 0, epoch: 0 })
    }
    return true
  },
}

/** A job whose worker was hit by a fault may start once more. */
function credit({ workers, told }: FamilyWorld, job: number, epoch: number): void {
  const entries = workers.flatMap((worker) => worker.entries)
  const holder = entries.find(
    (entry) => entry.job === job + 1 && entry.epoch === epoch && entry.phase >= GATED,
  )
  if (holder === undefined || holder.isHit === 1) told[job]!.spare = Math.min(3, told[job]!.spare + 1)
}

const deliveries = (world: FamilyWorld) => world.deliveries.length

const arrive: FamilyTransition = {
  name: 'BullMQ delivers',
  verb: PLACES.receive,
  ways: (world) => world.setup.workers * deliveries(world),
  describe: (world, way) => {
    const { job } = world.deliveries[way % deliveries(world)]!
    return `job ${letters[job - 1]} to worker ${Math.floor(way / deliveries(world)) + 1}`
  },
  take({ world }, way) {
    const worker = world.workers[Math.floor(way / deliveries(world))]!
    const pair = world.deliveries[way % deliveries(world)]!
    const free = worker.entries.find(({ phase }) => phase === FREE)
    if (pair.job === 0 || worker.state.isStopped === 1 || free === undefined) return false
    const { job, epoch } = pair
    Object.assign(free, { phase: QUEUED, job, epoch, until: world.setup.durations.lease })
    Object.assign(pair, { job: 0, epoch: 0 })
    return true
  },
}

const drop: FamilyTransition = {
  name: 'BullMQ loses a delivery',
  verb: PLACES.receive,
  isFault: true,
  ways: deliveries,
  describe: (world, way) => `job ${letters[world.deliveries[way]!.job - 1]}`,
  take({ world }, way) {
    const pair = world.deliveries[way]!
    if (pair.job === 0 || !world.spend('dropped')) return false
    world.told[pair.job - 1]!.isExcused = 1
    Object.assign(pair, { job: 0, epoch: 0 })
    return true
  },
}

/** What the process had is gone. */
function lose(world: FamilyWorld, pair: FamilyPair): void {
  const { job, epoch } = pair
  if (job === 0) return
  const record = world.record(job - 1)
  if (record.state === HANDED && record.epoch === epoch) world.told[job - 1]!.isExcused = 1
}

const killWorker: FamilyTransition = {
  name: 'is killed, and another takes its place',
  verb: PLACES.process,
  isFault: true,
  ...ofWorkers,
  take({ world }, way) {
    if (!world.spend('kill')) return false
    const { state, entries } = world.workers[way]!
    for (const entry of entries) {
      lose(world, entry)
      world.freeEntry(entry)
    }
    state.isStopped = 0
    for (const { jobs } of world.family.shards)
      for (const job of jobs) if (job.worker === way + 1) job.worker = GONE
    return true
  },
}

const killScheduler: FamilyTransition = {
  name: 'is killed, and another takes its place',
  verb: PLACES.process,
  isFault: true,
  ...ofSchedulers,
  take({ world }, way) {
    if (!world.spend('kill')) return false
    for (const pair of world.schedulers[way]!) {
      lose(world, pair)
      Object.assign(pair, { job: 0, epoch: 0 })
    }
    for (const { meta } of world.family.shards) if (meta.leader === way + 1) meta.leader = GONE
    return true
  },
}

const stopWorker: FamilyTransition = {
  name: 'is stopped',
  verb: PLACES.process,
  isFault: true,
  ...ofWorkers,
  take({ world }, way) {
    const { state, entries } = world.workers[way]!
    if (state.isStopped === 1 || !world.spend('stop')) return false
    state.isStopped = 1
    for (const entry of entries) if (entry.phase !== FREE) entry.isHit = 1
    return true
  },
}

const continueWorker: FamilyTransition = {
  name: 'goes on',
  verb: PLACES.process,
  ...ofWorkers,
  take({ world }, way) {
    const { state } = world.workers[way]!
    if (state.isStopped === 0) return false
    state.isStopped = 0
    return true
  },
}

const restart: FamilyTransition = {
  name: 'the store restarts with its data',
  verb: PLACES.server,
  isFault: true,
  ...once,
  take({ world }) {
    if (!world.spend('restart')) return false
    for (const { meta } of world.family.shards) meta.isKnownRun = 0
    return true
  },
}

/** As in actors/clocks.ts: a process that is well does within a tick what it has to do. */
function isOnTime(world: FamilyWorld): boolean {
  const { workers, schedulers, deliveries: waiting, family, setup } = world
  for (const worker of workers) {
    if (worker.state.isStopped === 1) continue
    if (worker.entries.some((entry) => !hasDone(world, worker, entry))) return false
    if (waiting[0]!.job !== 0 && worker.entries.some(({ phase }) => phase === FREE)) return false
  }
  if (schedulers.some((claimed) => claimed[0]!.job !== 0)) return false
  return family.shards[0]!.meta.heardAt > -setup.durations.silence
}

function hasDone(world: FamilyWorld, worker: FamilyWorker, entry: FamilyEntry): boolean {
  const { phase, startAt, until } = entry
  if (phase === FREE) return true
  if (phase === STARTED || phase === ENDING || phase === ENDING_REPORTED) return false
  if (phase === GATED && startAt <= 0) return false
  if (phase === QUEUED && !hasReservation(world, worker, entry)) return false
  return until === world.setup.durations.lease
}

const tick: FamilyTransition = {
  name: 'time passes',
  verb: PLACES.time,
  ...once,
  take({ world }) {
    if (!isOnTime(world)) return false
    world.elapse(1)
    return true
  },
}

export const others = [
  admit,
  claim(true),
  claim(false),
  hand,
  recover,
  arrive,
  drop,
  killWorker,
  killScheduler,
  stopWorker,
  continueWorker,
  restart,
  tick,
]

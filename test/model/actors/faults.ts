import { ABSENT, GONE, LATE_SENDER } from '../store/shard.ts'
import { excuseHanded } from './network.ts'
import { PLACES, type Step, type Transition, VERBS } from './transition.ts'
import { noticeClock } from './worker-calls.ts'
import {
  CHECKED,
  ENDING,
  ENDING_REPORTED,
  type Entry,
  FREE,
  GATED,
  QUEUED,
  SCHEDULERS,
  STARTED,
  UNASKED,
  WORKERS,
  type World,
} from './world.ts'

const ofWorkers = { ways: () => WORKERS, describe: (_: World, way: number) => `worker ${way + 1}` }
const ofSchedulers = { ways: () => SCHEDULERS, describe: (_: World, way: number) => `scheduler ${way + 1}` }
const once = { ways: () => 1 }

const stopWorker: Transition = {
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

const continueWorker: Transition = {
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

const killWorker: Transition = {
  name: 'is killed, and another takes its place',
  verb: PLACES.process,
  isFault: true,
  ...ofWorkers,
  take({ world }, way) {
    if (!world.spend('kill')) return false
    const { state, entries } = world.workers[way]!
    for (const entry of entries) {
      if (entry.phase === FREE) continue
      const { job, epoch } = entry
      world.freeEntry(entry)
      excuseHanded(world, job - 1, epoch)
    }
    Object.assign(state, { isStopped: 0, skew: 0, unreported: 0 })
    // The new process has another name; a call of the old one may still be on its way.
    const isSender = world.late.worker === way + 1 && world.late.verb > 1
    const name = isSender ? LATE_SENDER : GONE
    for (const shard of new Set([world.shard, world.copy])) {
      for (const job of shard.jobs) if (job.worker === way + 1) job.worker = name
    }
    if (isSender) world.late.worker = LATE_SENDER
    return true
  },
}

const stopScheduler: Transition = {
  name: 'is stopped',
  verb: PLACES.process,
  isFault: true,
  ...ofSchedulers,
  take({ world }, way) {
    const { state } = world.schedulers[way]!
    if (state.isStopped === 1 || !world.spend('stop')) return false
    state.isStopped = 1
    return true
  },
}

const continueScheduler: Transition = {
  name: 'goes on',
  verb: PLACES.process,
  ...ofSchedulers,
  take({ world }, way) {
    const { state } = world.schedulers[way]!
    if (state.isStopped === 0) return false
    state.isStopped = 0
    return true
  },
}

const killScheduler: Transition = {
  name: 'is killed, and another takes its place',
  verb: PLACES.process,
  isFault: true,
  ...ofSchedulers,
  take({ world }, way) {
    if (!world.spend('kill')) return false
    const { state, claimed } = world.schedulers[way]!
    for (const pair of claimed) {
      if (pair.job === 0) continue
      const { job, epoch } = pair
      Object.assign(pair, { job: 0, epoch: 0 })
      excuseHanded(world, job - 1, epoch)
    }
    state.isStopped = 0
    const isSender = world.late.worker === way + 1 && world.late.verb === 1
    for (const shard of new Set([world.shard, world.copy])) {
      if (shard.meta.leader === way + 1) shard.meta.leader = isSender ? LATE_SENDER : GONE
    }
    if (isSender) world.late.worker = LATE_SENDER
    return true
  },
}

const goAway: Transition = {
  name: 'the store is out of reach',
  verb: PLACES.network,
  isFault: true,
  ...once,
  take({ world }) {
    if (world.globals.isAway === 1 || !world.spend('outage')) return false
    world.globals.isAway = 1
    return true
  },
}

const comeBack: Transition = {
  name: 'the store is back',
  verb: PLACES.network,
  ...once,
  take({ world }) {
    if (world.globals.isAway === 0) return false
    world.globals.isAway = 0
    return true
  },
}

const restart: Transition = {
  name: 'the store restarts with its data',
  verb: PLACES.server,
  isFault: true,
  ...once,
  take({ world }) {
    if (!world.spend('restart')) return false
    world.shard.meta.isKnownRun = 0
    return true
  },
}

const copyData: Transition = {
  name: 'what the store holds is on the disk',
  verb: PLACES.server,
  ...once,
  take({ world }) {
    const { globals, shardSize, cells } = world
    if (world.copy === world.shard || globals.hasCopy === 1 || globals.faults === 0) return false
    cells.copyWithin(shardSize, 0, shardSize)
    globals.hasCopy = 1
    return true
  },
}

const rollBack: Transition = {
  name: 'the store restarts with what was on the disk',
  verb: PLACES.server,
  isFault: true,
  ...once,
  take({ world }) {
    const { globals, shardSize, cells } = world
    if (globals.hasCopy === 0 || !world.spend('rollback')) return false
    cells.copyWithin(0, shardSize, 2 * shardSize)
    globals.hasCopy = 0
    lose(world)
    world.shard.meta.isKnownRun = 0
    return true
  },
}

const wipe: Transition = {
  name: 'the store restarts empty',
  verb: PLACES.server,
  isFault: true,
  ...once,
  take({ world }) {
    if (!world.spend('wipe')) return false
    world.shard.clear()
    Object.assign(world.shard.meta, { isKnownRun: 2, hasName: 0 })
    // BullMQ keeps its jobs in the same store.
    for (const delivery of world.deliveries) Object.assign(delivery, { job: 0, epoch: 0 })
    lose(world)
    return true
  },
}

/** Jobs that the store has never heard of, or that it holds again. */
function lose({ globals, told, shard }: World): void {
  globals.isLossy = 1
  for (const [job, record] of told.entries()) {
    const isKnown = shard.jobs[job]!.state !== ABSENT
    if (record.told !== UNASKED) record.told = isKnown ? 1 : 2
    if (isKnown) record.isExcused = 1
  }
}

const writeBook: Transition = {
  name: 'a process writes the rule book again',
  verb: VERBS.book,
  ...once,
  take({ world, calls }) {
    const { globals, shard } = world
    if (globals.isAway === 1 || shard.meta.hasName === 1) return false
    calls.quarantine('loss', 0, 0)
    shard.meta.hasName = 1
    return true
  },
}

function moveClock(kind: 'forward' | 'back', sign: number): Transition {
  return {
    name: `the clock of the store is set ${kind}`,
    verb: PLACES.server,
    isFault: true,
    ...once,
    take({ world }) {
      if (!world.spend(kind)) return false
      world.moveClock(sign * world.setup.clockStep)
      return true
    },
  }
}

const notice: Transition = {
  name: 'asks for the time',
  verb: PLACES.clock,
  ...ofWorkers,
  take({ world }, way) {
    const worker = world.workers[way]!
    if (worker.state.skew === 0 || worker.state.isStopped === 1 || world.globals.isAway === 1) return false
    noticeClock(worker, world)
    return true
  },
}

const reportMove: Transition = {
  name: 'reports that the clock was moved',
  verb: VERBS.quarantine,
  ...ofWorkers,
  take({ world, calls }: Step, way) {
    const { state } = world.workers[way]!
    const { unreported } = state
    if (unreported === 0 || state.isStopped === 1 || world.globals.isAway === 1) return false
    if (Math.abs(unreported) > world.setup.durations.farthest) calls.quarantine('jump', unreported, way)
    else if (unreported > 0) calls.quarantine('step', unreported, way)
    state.unreported = 0
    return true
  },
}

/**
 * A process does within a tick what it has to do: bring, ask, start, report, renew. One that is slower counts as stopped. How
 * long a handler runs is open.
 */
function isOnTime(world: World): boolean {
  const { workers, schedulers, globals, shard, setup } = world
  for (const { state, entries } of workers) {
    if (state.isStopped === 1) continue
    const hasSlot = entries.some(({ phase }) => phase === GATED)
    for (const entry of entries) {
      if (entry.phase === GATED && entry.startAt <= 0 && state.unreported === 0 && entry.until > 0)
        return false
      if (globals.isAway === 0 && !hasAsked(entry, hasSlot, setup.durations.lease)) return false
    }
    const hasRoom = entries.some(({ phase }) => phase === FREE)
    if (globals.isAway === 0 && hasRoom && world.deliveries[0]!.job !== 0) return false
  }
  if (globals.isAway === 1) return true
  for (const { state, claimed } of schedulers) {
    if (state.isStopped === 1) continue
    if (claimed[0]!.job !== 0 || shard.meta.heardAt <= -setup.durations.silence) return false
  }
  return true
}

/** It has asked, unless another job of the worker has a slot; and it has renewed: a third of a lease is a tick. */
function hasAsked({ phase, until }: Entry, hasSlot: boolean, lease: number): boolean {
  if (
    (phase === QUEUED && !hasSlot) ||
    phase === CHECKED ||
    phase === STARTED ||
    phase === ENDING ||
    phase === ENDING_REPORTED
  )
    return false
  return phase === FREE || until === lease
}

const tick: Transition = {
  name: 'time passes',
  verb: PLACES.time,
  ...once,
  take({ world }) {
    const { heardAt } = world.shard.meta
    const { silence, lease } = world.setup.durations
    const isLeased = world.shard.jobs.some((job) => job.lease !== world.ends.far)
    if (!isOnTime(world) || (isLeased && heardAt <= -(silence + lease + 1))) return false
    world.elapse(1)
    return true
  },
}

export const faults = [
  stopWorker,
  continueWorker,
  killWorker,
  stopScheduler,
  continueScheduler,
  killScheduler,
  goAway,
  comeBack,
  restart,
  copyData,
  rollBack,
  wipe,
  writeBook,
  moveClock('forward', 1),
  moveClock('back', -1),
  notice,
  reportMove,
  tick,
]

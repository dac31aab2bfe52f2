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
  STARTED,
  WORKERS,
  type World,
} from './world.ts'

const ofWorkers = { ways: () => WORKERS, describe: (_: World, way: number) => `worker ${way + 1}` }
const once = { ways: () => 1 }

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

export const clocks = [moveClock('forward', 1), moveClock('back', -1), notice, reportMove, tick]

import { GONE, LATE_SENDER } from '../store/shard.ts'
import { excuseHanded } from './network.ts'
import { stopping } from './stopping.ts'
import { PLACES, type Step, type Transition } from './transition.ts'
import { FREE, SCHEDULERS, WORKERS, type World } from './world.ts'

const ofWorkers = { ways: () => WORKERS, describe: (_: World, way: number) => `worker ${way + 1}` }
const ofSchedulers = { ways: () => SCHEDULERS, describe: (_: World, way: number) => `scheduler ${way + 1}` }

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

export const processFaults = [
  ...stopping<Step>(ofWorkers, ({ workers }, way) => workers[way]!),
  killWorker,
  ...stopping<Step>(ofSchedulers, ({ schedulers }, way) => schedulers[way]!),
  killScheduler,
]

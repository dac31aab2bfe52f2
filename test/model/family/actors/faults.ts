import { stopping } from '../../actors/stopping.ts'
import { letters, PLACES } from '../../actors/transition.ts'
import { GONE, HANDED } from '../../store/shard.ts'
import { ofSchedulers } from './schedulers.ts'
import type { FamilyStep, FamilyTransition } from './workers.ts'
import type { FamilyPair, FamilyWorld } from './world.ts'

const ofWorkers = {
  ways: ({ setup }: FamilyWorld) => setup.workers,
  describe: (_: FamilyWorld, way: number) => `worker ${way + 1}`,
}

const drop: FamilyTransition = {
  name: 'BullMQ loses a delivery',
  verb: PLACES.receive,
  isFault: true,
  ways: ({ deliveries }) => deliveries.length,
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

const restart: FamilyTransition = {
  name: 'the store restarts with its data',
  verb: PLACES.server,
  isFault: true,
  ways: () => 1,
  take({ world }) {
    if (!world.spend('restart')) return false
    for (const { meta } of world.family.shards) meta.isKnownRun = 0
    return true
  },
}

export const faults = [
  drop,
  killWorker,
  killScheduler,
  ...stopping<FamilyStep>(ofWorkers, ({ workers }, way) => workers[way]!),
  restart,
]

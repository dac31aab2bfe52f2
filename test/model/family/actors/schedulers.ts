import { letters, PLACES, VERBS } from '../../actors/transition.ts'
import { ACCEPTED, FREE, GATED, QUEUED, REFUSED, UNASKED } from '../../actors/world.ts'
import { isRecoveryDue } from '../../store/verbs/recover.ts'
import { judgeRoom } from '../laws.ts'
import type { FamilyTransition } from './workers.ts'
import type { FamilyWorld } from './world.ts'

const ofJobs = {
  ways: ({ setup }: FamilyWorld) => setup.jobs.length,
  describe: (_: FamilyWorld, job: number) => `job ${letters[job]}`,
}
export const ofSchedulers = {
  ways: ({ setup }: FamilyWorld) => setup.schedulers,
  describe: (_: FamilyWorld, way: number) => `scheduler ${way + 1}`,
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

/** How a job gets into its line, and from there to a worker. */
export const toWorkers = [admit, claim(true), claim(false), hand, recover, arrive]

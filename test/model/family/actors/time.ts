import { PLACES } from '../../actors/transition.ts'
import { ENDING, ENDING_REPORTED, FREE, GATED, QUEUED, STARTED } from '../../actors/world.ts'
import { type FamilyTransition, hasReservation } from './workers.ts'
import type { FamilyEntry, FamilyWorker, FamilyWorld } from './world.ts'

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

export const tick: FamilyTransition = {
  name: 'time passes',
  verb: PLACES.time,
  ways: () => 1,
  take({ world }) {
    if (!isOnTime(world)) return false
    world.elapse(1)
    return true
  },
}

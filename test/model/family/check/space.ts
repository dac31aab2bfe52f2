import { UNASKED } from '../../actors/world.ts'
import type { Space } from '../../check/space.ts'
import { isEnded } from '../../store/leave.ts'
import { ABSENT } from '../../store/shard.ts'
import { FamilyCalls } from '../actors/calls.ts'
import { faults } from '../actors/faults.ts'
import { operators } from '../actors/operators.ts'
import { toWorkers } from '../actors/schedulers.ts'
import { tick } from '../actors/time.ts'
import { type FamilyStep, type FamilyTransition, workers } from '../actors/workers.ts'
import { FamilyWorld } from '../actors/world.ts'
import { judgeState } from '../laws.ts'
import type { FamilySetup } from '../setup.ts'
import { FamilyCanonical } from './canonical.ts'

/** All that can happen. */
export const FAMILY_TRANSITIONS: readonly FamilyTransition[] = [
  ...toWorkers,
  ...workers,
  ...operators,
  ...faults,
  tick,
]

/** The model of a family below totals. */
export function familySpace(
  setup: FamilySetup,
  transitions: readonly FamilyTransition[] = FAMILY_TRANSITIONS,
): Space<FamilyStep> {
  const world = new FamilyWorld(setup)
  const canonical = new FamilyCanonical(world)
  const hasEnded = (job: number) => {
    const record = world.record(job)
    return (record.state === ABSENT || isEnded(record)) && world.told[job]!.told !== UNASKED
  }
  return {
    name: setup.name,
    step: { world, calls: new FamilyCalls(world) },
    transitions,
    judge: () => judgeState(world),
    canonicalize: () => canonical.apply(),
    isOver: () => setup.jobs.every((_, job) => hasEnded(job)),
  }
}

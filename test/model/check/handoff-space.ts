import { Calls } from '../actors/calls.ts'
import type { Step } from '../actors/transition.ts'
import { UNASKED, World } from '../actors/world.ts'
import { judgeState } from '../laws.ts'
import type { Setup } from '../setup.ts'
import { isEnded } from '../store/leave.ts'
import { ABSENT } from '../store/shard.ts'
import { Canonical } from './canonical.ts'
import type { Space } from './space.ts'
import { TRANSITIONS } from './transitions.ts'

/** The model of one bucket. */
export function handoffSpace(setup: Setup): Space<Step> {
  const world = new World(setup)
  for (const worker of world.workers) for (const entry of worker.entries) world.freeEntry(entry)
  world.forgetLate()
  const canonical = new Canonical(world)
  return {
    name: setup.name,
    step: { world, calls: new Calls(world) },
    transitions: TRANSITIONS,
    judge: () => judgeState(world),
    canonicalize: () => canonical.apply(),
    isOver: () =>
      world.shard.jobs.every(
        (job, index) => (job.state === ABSENT || isEnded(job)) && world.told[index]!.told !== UNASKED,
      ),
  }
}

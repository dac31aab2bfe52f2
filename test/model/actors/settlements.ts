import { type Transition, VERBS } from './transition.ts'
import { reportTaken, sentBy } from './worker-calls.ts'
import { describeHeld, held, mayCall, ofEntries } from './workers.ts'
import { REPORTED, STARTED } from './world.ts'

function settles(isHeard: boolean): Transition {
  return {
    name: `says what it took${isHeard ? '' : ', and the answer is lost'}`,
    verb: VERBS.settle,
    isFault: !isHeard,
    ways: ofEntries,
    describe: describeHeld,
    take(step, way) {
      const { world } = step
      const { worker, name, entry } = held(world, way)
      const runs = entry.phase === STARTED || entry.phase === REPORTED
      if (!runs || world.globals.settles === 0 || !mayCall(world, worker)) return false
      if (isHeard) world.globals.settles -= 1
      else if (!world.spend('lost')) return false
      reportTaken(step, sentBy(world, name, entry))
      return true
    },
  }
}

export const settlements = [settles(true), settles(false)]

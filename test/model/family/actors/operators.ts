import { VERBS } from '../../actors/transition.ts'
import { noteChange } from '../laws.ts'
import type { FamilyTransition } from './workers.ts'
import type { FamilyWorld } from './world.ts'

/** The buckets, and behind them the totals. */
const ofHeld = {
  ways: ({ setup }: FamilyWorld) => setup.buckets.length + setup.totals.length,
  describe: ({ setup }: FamilyWorld, way: number) => [...setup.buckets, ...setup.totals][way]!.key,
}

const freeze: FamilyTransition = {
  name: 'is frozen',
  verb: VERBS.hold,
  ...ofHeld,
  take({ world, calls }, way) {
    if (world.globals.freezes === 0) return false
    world.globals.freezes -= 1
    const duration = freezeLength(world)
    calls.freeze(way, duration)
    noteFreeze(world, way, duration)
    return true
  },
}

const unfreeze: FamilyTransition = {
  name: 'is no longer frozen',
  verb: VERBS.hold,
  ...ofHeld,
  take({ world, calls }, way) {
    const { cells, frozenUntil, ends, fairness } = world
    if (cells[frozenUntil[way]!]! <= 0) return false
    if (!calls.unfreeze(way)) world.breaks('freeze lost')
    cells[frozenUntil[way]!] = ends.never
    fairness.interrupt(way)
    return true
  },
}

const pause: FamilyTransition = {
  name: 'is paused',
  verb: VERBS.hold,
  ...ofHeld,
  take({ world, calls }, way) {
    const cell = world.paused[way]!
    if (world.globals.pauses === 0 || world.cells[cell] === 1) return false
    world.globals.pauses -= 1
    calls.hold('pause', way)
    world.cells[cell] = 1
    noteHold(world, way)
    return true
  },
}

const resume: FamilyTransition = {
  name: 'goes on after the pause',
  verb: VERBS.hold,
  ...ofHeld,
  take({ world, calls }, way) {
    const cell = world.paused[way]!
    if (world.cells[cell] === 0) return false
    calls.hold('resume', way)
    world.cells[cell] = 0
    world.fairness.interrupt(way)
    return true
  },
}

const changeLimit: FamilyTransition = {
  name: 'has another limit',
  verb: VERBS.retime,
  ...ofHeld,
  take({ world, calls }, way) {
    const { setup } = world
    const { changed } = [...setup.buckets, ...setup.totals][way]!
    if (changed === undefined || world.limitsUpTo(way).length > 1) return false
    calls.changeLimit(way)
    noteChange(world, way)
    return true
  },
}

/** Long enough to outlast the slot that was granted before. */
export function freezeLength({ setup }: FamilyWorld): number {
  return setup.durations.farthest + 2
}

export function noteFreeze(world: FamilyWorld, held: number, duration: number): void {
  const { cells, frozenUntil } = world
  const cell = frozenUntil[held]!
  cells[cell] = Math.max(cells[cell]!, duration)
  noteHold(world, held)
}

/** A job that has its slot is not held. */
function noteHold(world: FamilyWorld, held: number): void {
  for (const job of world.grantedBelow(held)) world.told[job]!.isExempt = 1
  world.fairness.interrupt(held)
}

export const operators = [freeze, unfreeze, pause, resume, changeLimit]

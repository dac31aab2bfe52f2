import { waitingUnits } from '../store/line.ts'
import { ABSENT, GRANTED } from '../store/shard.ts'
import { judge } from '../store/verbs/admit.ts'
import { letters, type Step, type Transition, VERBS } from './transition.ts'
import { ACCEPTED, DONE, PROMISED, REFUSED, UNASKED, type World } from './world.ts'

const jobs = (world: World) => world.setup.jobs.length
const nameOf = (_: World, job: number) => `job ${letters[job]}`

/** Jobs come in the order of their letters, since it does not matter which is which. */
function isNext({ told }: World, job: number): boolean {
  return told[job]!.told === UNASKED && (job === 0 || told[job - 1]!.told !== UNASKED)
}

function accept({ world }: Step, job: number): void {
  const { shard, setup } = world
  Object.assign(world.told[job]!, { told: ACCEPTED, spare: 1 })
  if (waitingUnits(shard) > setup.limits[shard.bucket.limit]!.capacity) world.breaks('L1 bound')
}

function admitNow(step: Step, job: number): boolean {
  const { world, calls } = step
  const answer = calls.admit(job)
  if (answer === 'yes') accept(step, job)
  else world.told[job]!.told = REFUSED
  return true
}

const admit: Transition = {
  name: 'a producer enqueues',
  verb: VERBS.admit,
  ways: jobs,
  describe: nameOf,
  take(step, job) {
    const { world } = step
    if (world.globals.isAway === 1 || world.shard.meta.hasName !== 1 || !isNext(world, job)) return false
    if (!world.shard.has('capacity-read-before')) return admitNow(step, job)
    const isRoom = judge(world.shard, job) === 'yes'
    world.told[job]!.told = isRoom ? PROMISED : REFUSED
    return true
  },
}

const admitPromised: Transition = {
  name: 'a producer enqueues, as there was room when it looked',
  verb: VERBS.admit,
  ways: jobs,
  describe: nameOf,
  take(step, job) {
    if (step.world.told[job]!.told !== PROMISED) return false
    step.calls.admit(job, 'yes')
    accept(step, job)
    return true
  },
}

const reuse: Transition = {
  name: 'a producer uses the id of a forgotten job again',
  verb: VERBS.admit,
  ways: jobs,
  describe: nameOf,
  take(step, job) {
    const { world } = step
    const { globals, shard, told } = world
    const isForgotten = told[job]!.told >= DONE && shard.jobs[job]!.state === ABSENT
    if (globals.isAway === 1 || globals.reuses === 0 || !isForgotten || shard.meta.hasName !== 1) return false
    globals.reuses -= 1
    // It comes behind those with later letters, so L4 is not asked of it.
    Object.assign(told[job]!, { spare: 0, hasStarted: 1, isExempt: 0, isRetry: 0, passed: 0, isExcused: 0 })
    for (const { entries } of world.workers)
      for (const entry of entries) if (entry.job === job + 1) entry.isLatest = 0
    if (world.late.job === job + 1) world.late.isLatest = 0
    return admitNow(step, job)
  },
}

const cancel: Transition = {
  name: 'a producer cancels',
  verb: VERBS.cancel,
  ways: jobs,
  describe: nameOf,
  take({ world, calls }, job) {
    const { globals, told } = world
    if (globals.isAway === 1 || globals.cancels === 0 || told[job]!.told !== ACCEPTED) return false
    globals.cancels -= 1
    calls.cancel(job)
    return true
  },
}

const freeze: Transition = {
  name: 'the bucket is frozen',
  verb: VERBS.hold,
  ways: () => 1,
  take(step) {
    const { globals, shard } = step.world
    if (globals.isAway === 1 || globals.freezes === 0 || shard.bucket.exists === 0) return false
    globals.freezes -= 1
    const duration = freezeLength(step.world)
    step.calls.freeze(duration)
    noteFreeze(step.world, duration)
    return true
  },
}

const unfreeze: Transition = {
  name: 'the freeze is lifted',
  verb: VERBS.hold,
  ways: () => 1,
  take({ world, calls }) {
    const { globals } = world
    if (globals.isAway === 1 || globals.frozenUntil <= 0) return false
    calls.unfreeze()
    globals.frozenUntil = world.ends.never
    return true
  },
}

const changeLimit: Transition = {
  name: 'the limit is changed',
  verb: VERBS.retime,
  ways: () => 1,
  take({ world, calls }) {
    const { shard, globals, setup } = world
    const { meta, bucket } = shard
    if (globals.isAway === 1 || meta.book + 1 >= setup.limits.length) return false
    const before = setup.limits[meta.book]!.interval
    const after = setup.limits[meta.book + 1]!.interval
    calls.changeRule()
    // A job that has its slot may still use the old limit; a bucket that was idle has forgotten its last start.
    const mayUseOld = after > before && bucket.granted !== 0
    if (!mayUseOld && globals.tat > 0) globals.tat += (after - before) * globals.startedCost
    return true
  },
}

/** Long enough to outlast the slot that was granted before. */
export function freezeLength({ setup }: World): number {
  return setup.durations.farthest + 2
}

export function noteFreeze({ globals, shard, told }: World, duration: number): void {
  globals.frozenUntil = Math.max(globals.frozenUntil, duration)
  for (const [job, { state }] of shard.jobs.entries()) if (state === GRANTED) told[job]!.isExempt = 1
}

export const producers = [admit, admitPromised, reuse, cancel, freeze, unfreeze, changeLimit]

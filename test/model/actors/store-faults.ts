import { judgeRollback } from '../laws.ts'
import { ABSENT } from '../store/shard.ts'
import { PLACES, type Transition, VERBS } from './transition.ts'
import { UNASKED, type World } from './world.ts'

const once = { ways: () => 1 }

const goAway: Transition = {
  name: 'the store is out of reach',
  verb: PLACES.network,
  isFault: true,
  ...once,
  take({ world }) {
    if (world.globals.isAway === 1 || !world.spend('outage')) return false
    world.globals.isAway = 1
    return true
  },
}

const comeBack: Transition = {
  name: 'the store is back',
  verb: PLACES.network,
  ...once,
  take({ world }) {
    if (world.globals.isAway === 0) return false
    world.globals.isAway = 0
    return true
  },
}

const restart: Transition = {
  name: 'the store restarts with its data',
  verb: PLACES.server,
  isFault: true,
  ...once,
  take({ world }) {
    if (!world.spend('restart')) return false
    world.shard.meta.isKnownRun = 0
    return true
  },
}

const copyData: Transition = {
  name: 'what the store holds is on the disk',
  verb: PLACES.server,
  ...once,
  take({ world }) {
    const { globals, shardSize, cells } = world
    if (world.copy === world.shard || globals.hasCopy === 1 || globals.faults === 0) return false
    cells.copyWithin(shardSize, 0, shardSize)
    Object.assign(globals, { hasCopy: 1, copiedAt: 0 })
    return true
  },
}

const rollBack: Transition = {
  name: 'the store restarts with what was on the disk',
  verb: PLACES.server,
  isFault: true,
  ...once,
  take({ world }) {
    const { globals, shardSize, cells } = world
    if (globals.hasCopy === 0 || !world.spend('rollback')) return false
    cells.copyWithin(0, shardSize, 2 * shardSize)
    lose(world)
    judgeRollback(world)
    Object.assign(globals, { hasCopy: 0, copiedAt: world.ends.never })
    world.shard.meta.isKnownRun = 0
    return true
  },
}

const wipe: Transition = {
  name: 'the store restarts empty',
  verb: PLACES.server,
  isFault: true,
  ...once,
  take({ world }) {
    if (!world.spend('wipe')) return false
    world.shard.clear()
    Object.assign(world.shard.meta, { isKnownRun: 2, hasName: 0 })
    // BullMQ keeps its jobs in the same store.
    for (const delivery of world.deliveries) Object.assign(delivery, { job: 0, epoch: 0 })
    lose(world)
    world.globals.knownTokens = 0
    world.ledger.clear()
    return true
  },
}

/** Jobs that the store has never heard of, or that it holds again. */
function lose({ globals, told, shard }: World): void {
  globals.isLossy = 1
  for (const [job, record] of told.entries()) {
    const isKnown = shard.jobs[job]!.state !== ABSENT
    if (record.told !== UNASKED) record.told = isKnown ? 1 : 2
    if (isKnown) record.isExcused = 1
  }
}

const writeBook: Transition = {
  name: 'a process writes the rule book again',
  verb: VERBS.book,
  ...once,
  take({ world, calls }) {
    const { globals, shard } = world
    if (globals.isAway === 1 || shard.meta.hasName === 1) return false
    calls.quarantine('loss', 0, 0)
    shard.meta.hasName = 1
    return true
  },
}

export const storeFaults = [goAway, comeBack, restart, copyData, rollBack, wipe, writeBook]

import { letters, PLACES, type Step, type Transition, VERBS } from '../../actors/transition.ts'
import { ENDING, ENDING_REPORTED, FREE, GATED, QUEUED, REPORTED, STARTED, WAITS } from '../../actors/world.ts'
import { judgeStart } from '../laws.ts'
import type { FamilyCalls } from './calls.ts'
import { freezeLength, noteFreeze } from './operators.ts'
import type { FamilyEntry, FamilyWorker, FamilyWorld } from './world.ts'

export type FamilyStep = Step<FamilyWorld, FamilyCalls>
export type FamilyTransition = Transition<FamilyStep>

interface Held {
  readonly worker: FamilyWorker
  /** Its name in the store. */
  readonly name: number
  readonly entry: FamilyEntry
}

function held({ workers, setup }: FamilyWorld, way: number): Held {
  const index = Math.floor(way / setup.holds)
  const worker = workers[index]!
  return { worker, name: index + 1, entry: worker.entries[way % setup.holds]! }
}

const ofEntries = {
  ways: ({ setup }: FamilyWorld) => setup.workers * setup.holds,
  describe: (world: FamilyWorld, way: number) => {
    const { name, entry } = held(world, way)
    return `worker ${name}, job ${letters[entry.job - 1]}`
  },
}

const isUp = ({ state }: FamilyWorker) => state.isStopped === 0

export const runs = ({ phase }: FamilyEntry) => phase >= STARTED && phase !== WAITS

/** The last look: in the window, and with the lease. */
function mayStart({ startAt, latest, until }: FamilyEntry): boolean {
  return startAt <= 0 && latest >= 0 && until > 0
}

/** A worker has one reservation for each bucket. */
export function hasReservation(world: FamilyWorld, worker: FamilyWorker, { job }: FamilyEntry): boolean {
  const { bucket } = world.known(job - 1)
  return worker.entries.some((entry) => entry.phase === GATED && world.known(entry.job - 1).bucket === bucket)
}

function mayAskGate(world: FamilyWorld, { worker, entry }: Held): boolean {
  if (!isUp(worker)) return false
  if (entry.phase === GATED) return entry.startAt <= 0 && !mayStart(entry)
  return (entry.phase === QUEUED || entry.phase === WAITS) && !hasReservation(world, worker, entry)
}

/** Asks, and notes the answer where it is heard. */
function askGate({ world, calls }: FamilyStep, { entry, name }: Held, isHeard: boolean): void {
  const { ends, setup } = world
  if (entry.phase === GATED) Object.assign(entry, { phase: QUEUED, hasMissed: 1, startAt: ends.never })
  const missed = entry.hasMissed === 1 ? entry.slot : undefined
  const job = entry.job - 1
  const had = world.record(job).state
  const answer = calls.gate({ job, epoch: entry.epoch, worker: name, missed })
  // Below totals it is granted anew.
  Object.assign(world.told[job]!, { isExempt: 0, grantedBefore: 0 })
  if (answer.kind === 'returned') noteReturned(world, job, had)
  if (!isHeard) return
  const { lease, farthest } = setup.durations
  if (answer.kind === 'granted') {
    const { slot, startAt } = answer
    const latest = Math.floor(Math.min(startAt + farthest, answer.latest))
    Object.assign(entry, { phase: GATED, slot, startAt, latest, until: lease, hasMissed: 0, isHit: 0 })
  } else if (answer.kind === 'wait') {
    Object.assign(entry, { phase: WAITS, hasMissed: 0, slot: ends.never, until: lease })
  } else world.freeEntry(entry)
}

/** The store sends back all that were handed over behind the job, too. */
function noteReturned(world: FamilyWorld, job: number, had: number): void {
  if (had !== world.record(job).state) world.fairness.giveBack(job)
}

function gate(isHeard: boolean): FamilyTransition {
  return {
    name: `asks for a slot${isHeard ? '' : ', and the answer is lost'}`,
    verb: VERBS.gate,
    isFault: !isHeard,
    ...ofEntries,
    take(step, way) {
      const it = held(step.world, way)
      if (!mayAskGate(step.world, it) || (!isHeard && !step.world.spend('lost'))) return false
      askGate(step, it, isHeard)
      return true
    },
  }
}

const start: FamilyTransition = {
  name: 'looks, and calls the handler',
  verb: PLACES.look,
  ...ofEntries,
  take({ world }, way) {
    const { worker, name, entry } = held(world, way)
    if (entry.phase !== GATED || !isUp(worker) || !mayStart(entry)) return false
    judgeStart(world, name, entry)
    const { never } = world.ends
    Object.assign(entry, { phase: STARTED, startedAt: 0, startAt: never, latest: never, hasMissed: 0 })
    return true
  },
}

function report(isHeard: boolean): FamilyTransition {
  return {
    name: `reports the start${isHeard ? '' : ', and the answer is lost'}`,
    verb: VERBS.start,
    isFault: !isHeard,
    ...ofEntries,
    take({ world, calls }, way) {
      const { worker, entry } = held(world, way)
      if (entry.phase !== STARTED || !isUp(worker) || (!isHeard && !world.spend('lost'))) return false
      const isMine = calls.start(entry.job - 1, entry.epoch, entry.startedAt)
      if (isHeard && isMine) entry.phase = REPORTED
      else if (isHeard) world.freeEntry(entry)
      return true
    },
  }
}

const renew: FamilyTransition = {
  name: 'renews its lease',
  verb: VERBS.renew,
  ...ofEntries,
  take({ world, calls }, way) {
    const { worker, entry } = held(world, way)
    const { lease } = world.setup.durations
    if (entry.phase === FREE || !isUp(worker)) return false
    if (entry.until === lease && world.record(entry.job - 1).lease === lease) return false
    if (calls.renew(entry.job - 1, entry.epoch)) Object.assign(entry, { until: lease, isHit: 0 })
    else world.freeEntry(entry)
    return true
  },
}

const freezes: FamilyTransition = {
  name: 'reports the end: frozen',
  verb: VERBS.finish,
  ...ofEntries,
  take({ world, calls }, way) {
    const { worker, name, entry } = held(world, way)
    if (world.globals.freezes === 0 || !runs(entry) || entry.phase >= ENDING || !isUp(worker)) return false
    world.globals.freezes -= 1
    const startedAt = entry.phase === REPORTED ? undefined : entry.startedAt
    const job = entry.job - 1
    const delay = freezeLength(world)
    const isMine = calls.finish({
      job,
      epoch: entry.epoch,
      worker: name,
      startedAt,
      outcome: 'freeze',
      delay,
    })
    if (isMine) {
      world.told[job]!.spare = Math.min(3, world.told[job]!.spare + 1)
      noteFreeze(world, world.known(job).bucket, delay)
    }
    world.freeEntry(entry)
    return true
  },
}

function end(isHeard: boolean): FamilyTransition {
  return {
    name: `reports the end${isHeard ? '' : ', and the answer is lost'}`,
    verb: VERBS.finish,
    isFault: !isHeard,
    ...ofEntries,
    take({ world, calls }, way) {
      const { worker, name, entry } = held(world, way)
      if (!runs(entry) || !isUp(worker) || (!isHeard && !world.spend('lost'))) return false
      const isKnown = entry.phase === REPORTED || entry.phase === ENDING_REPORTED
      const startedAt = isKnown ? undefined : entry.startedAt
      const { job, epoch } = entry
      calls.finish({ job: job - 1, epoch, worker: name, startedAt, outcome: 'completed', delay: 0 })
      if (isHeard) world.freeEntry(entry)
      else entry.phase = isKnown ? ENDING_REPORTED : ENDING
      return true
    },
  }
}

const giveBack: FamilyTransition = {
  name: 'gives the job back',
  verb: VERBS.finish,
  ...ofEntries,
  take({ world, calls }, way) {
    const { worker, name, entry } = held(world, way)
    if (world.globals.returns === 0 || entry.phase === FREE || runs(entry) || !isUp(worker)) return false
    world.globals.returns -= 1
    const job = entry.job - 1
    const had = world.record(job).state
    calls.finish({ job, epoch: entry.epoch, worker: name, outcome: 'back', delay: 0 })
    noteReturned(world, job, had)
    world.freeEntry(entry)
    return true
  },
}

export const workers = [
  gate(true),
  gate(false),
  start,
  report(true),
  report(false),
  renew,
  end(true),
  end(false),
  freezes,
  giveBack,
]

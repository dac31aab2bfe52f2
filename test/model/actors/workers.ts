import { judgeStart } from '../laws.ts'
import { PLACES, type Transition, VERBS } from './transition.ts'
import {
  askGate,
  asks,
  holds,
  lookAtGate,
  looksFirst,
  noticeClock,
  reportEnd,
  runs,
  sentBy,
} from './worker-calls.ts'
import {
  CHECKED,
  ENDING,
  ENDING_REPORTED,
  type Entry,
  GATED,
  QUEUED,
  REPORTED,
  STARTED,
  WAITS,
  WORKERS,
  type Worker,
  type World,
} from './world.ts'

export interface Held {
  readonly worker: Worker
  /** Its name in the store. */
  readonly name: number
  readonly entry: Entry
}

/** Every job that a worker may hold is one way. */
export const ofEntries = (world: World) => WORKERS * world.workers[0]!.entries.length
export function held(world: World, way: number): Held {
  const count = world.workers[0]!.entries.length
  const index = Math.floor(way / count)
  const worker = world.workers[index]!
  return { worker, name: index + 1, entry: worker.entries[way % count]! }
}
export const describeHeld = (world: World, way: number) => {
  const { name, entry } = held(world, way)
  return `worker ${name}, job ${'abcdefgh'[entry.job - 1]}`
}
const ofEach = { ways: ofEntries, describe: describeHeld }

export function mayCall(world: World, worker: Worker): boolean {
  return worker.state.isStopped === 0 && world.globals.isAway === 0
}

/** The last look: in the window, with the lease, by a clock that is known. */
function mayStart({ shard, setup }: World, { state }: Worker, entry: Entry): boolean {
  const isLate = entry.startAt < -setup.durations.farthest
  if (state.unreported !== 0 || entry.startAt > 0) return false
  if (isLate && !shard.has('no-late-look')) return false
  return entry.until > 0 || shard.has('no-lease-look')
}

/** Whether it may ask the gate now: one job of the bucket at a time, and again where it is too late for its slot. */
export function mayAskGate(world: World, { worker, entry }: Held): boolean {
  if (!mayCall(world, worker) || worker.state.unreported !== 0) return false
  if (entry.phase === GATED) return entry.startAt <= 0 && !mayStart(world, worker, entry)
  return (
    (entry.phase === QUEUED || entry.phase === WAITS) &&
    worker.entries.every(({ phase }) => phase !== GATED && phase !== CHECKED)
  )
}

const gate: Transition = {
  name: 'asks for a slot',
  verb: VERBS.gate,
  ...ofEach,
  take(step, way) {
    const { world } = step
    const it = held(world, way)
    const { worker, entry, name } = it
    const isSecond = entry.phase === CHECKED && mayCall(world, worker)
    if (!isSecond && !mayAskGate(world, it)) return false
    if (entry.phase === GATED) entry.hasMissed = 1
    const sent = sentBy(world, name, entry)
    const isInTwo = looksFirst(world, sent)
    if (isInTwo && !isSecond) {
      if (!lookAtGate(world, sent)) world.freeEntry(entry)
      else entry.phase = CHECKED
      return true
    }
    const answer = askGate(step, sent, isSecond)
    if (answer.kind === 'granted') {
      const { startAt, slot } = answer
      Object.assign(entry, { phase: GATED, startAt, slot, hasMissed: 0, isHit: 0 })
      entry.until = world.setup.durations.lease
    } else if (answer.kind === 'wait') {
      Object.assign(entry, {
        phase: WAITS,
        hasMissed: 0,
        slot: world.ends.never,
        until: world.setup.durations.lease,
      })
    } else world.freeEntry(entry)
    noticeClock(worker, world)
    return true
  },
}

const gateUnheard: Transition = {
  name: 'asks for a slot, and the answer is lost',
  verb: VERBS.gate,
  isFault: true,
  ...ofEach,
  take(step, way) {
    const { world } = step
    const it = held(world, way)
    if (!mayAskGate(world, it) || !world.spend('lost')) return false
    const { entry } = it
    if (entry.phase === GATED)
      Object.assign(entry, { phase: QUEUED, hasMissed: 1, startAt: world.ends.never })
    askGate(step, sentBy(world, it.name, entry))
    return true
  },
}

const start: Transition = {
  name: 'looks, and calls the handler',
  verb: PLACES.look,
  ...ofEach,
  take({ world }, way) {
    const { worker, name, entry } = held(world, way)
    if (entry.phase !== GATED || worker.state.isStopped === 1 || !mayStart(world, worker, entry)) return false
    judgeStart(world, name, entry)
    // What it takes for the time of the store.
    Object.assign(entry, { phase: STARTED, startedAt: -worker.state.skew, startAt: world.ends.never })
    entry.hasMissed = 0
    return true
  },
}

const report: Transition = {
  name: 'reports the start',
  verb: VERBS.start,
  ...ofEach,
  take({ world, calls }, way) {
    const { worker, entry } = held(world, way)
    if (entry.phase !== STARTED || !mayCall(world, worker)) return false
    if (calls.start(entry.job - 1, entry.epoch, entry.startedAt)) entry.phase = REPORTED
    else world.freeEntry(entry)
    return true
  },
}

const reportUnheard: Transition = {
  name: 'reports the start, and the answer is lost',
  verb: VERBS.start,
  isFault: true,
  ...ofEach,
  take({ world, calls }, way) {
    const { worker, entry } = held(world, way)
    if (entry.phase !== STARTED || !mayCall(world, worker) || !world.spend('lost')) return false
    calls.start(entry.job - 1, entry.epoch, entry.startedAt)
    return true
  },
}

const renew: Transition = {
  name: 'renews its leases',
  verb: VERBS.renew,
  ways: () => WORKERS,
  describe: (_, way) => `worker ${way + 1}`,
  take({ world, calls }, way) {
    const worker = world.workers[way]!
    const { lease } = world.setup.durations
    const entries = worker.entries.filter(holds)
    const isFresh = (entry: Entry) =>
      entry.until === lease && world.shard.jobs[entry.job - 1]!.lease === lease
    if (entries.length === 0 || !mayCall(world, worker) || entries.every(isFresh)) return false
    const answers = calls.renew(entries.map(({ job, epoch }) => ({ job: job - 1, epoch })))
    for (const [index, entry] of entries.entries()) {
      const isFencedOut = runs(entry) && entry.isLatest === 0 && world.globals.isLossy === 0
      if (answers[index] && isFencedOut) world.breaks('fenced-out renewal')
      if (answers[index]) Object.assign(entry, { until: lease, isHit: 0 })
      else world.freeEntry(entry)
    }
    return true
  },
}

const renewUnheard: Transition = {
  name: 'renews its leases, and the answer is lost',
  verb: VERBS.renew,
  isFault: true,
  ways: () => WORKERS,
  describe: (_, way) => `worker ${way + 1}`,
  take({ world, calls }, way) {
    const worker = world.workers[way]!
    const entries = worker.entries.filter(holds)
    if (entries.length === 0 || !mayCall(world, worker) || !world.spend('lost')) return false
    calls.renew(entries.map(({ job, epoch }) => ({ job: job - 1, epoch })))
    return true
  },
}

/** Outcomes that are left to the handlers. */
function mayEnd({ globals, setup }: World, outcome: number, isAgain: boolean): boolean {
  if (isAgain || outcome === 0) return true
  if (outcome === 1) return globals.retries > 0
  return outcome === 2 && setup.freezes > 0 && globals.freezes > 0
}

function end(isHeard: boolean, outcome: number): Transition {
  const names = ['completed', 'to be tried again', 'frozen']
  return {
    name: `reports the end: ${names[outcome]}${isHeard ? '' : ', and the answer is lost'}`,
    verb: VERBS.finish,
    isFault: !isHeard,
    ...ofEach,
    take(step, way) {
      const { world } = step
      const { worker, name, entry } = held(world, way)
      if (!runs(entry) || !mayCall(world, worker)) return false
      const isAgain = entry.phase >= ENDING
      if (isAgain && entry.outcome !== outcome) return false
      if (!mayEnd(world, outcome, isAgain) || (!isHeard && !world.spend('lost'))) return false
      if (!isAgain && outcome === 1) world.globals.retries -= 1
      if (!isAgain && outcome === 2) world.globals.freezes -= 1
      reportEnd(step, sentBy(world, name, entry, outcome))
      const phase = entry.phase === REPORTED || entry.phase === ENDING_REPORTED ? ENDING_REPORTED : ENDING
      if (isHeard) world.freeEntry(entry)
      else Object.assign(entry, { phase, outcome })
      return true
    },
  }
}

const giveBack: Transition = {
  name: 'gives the job back',
  verb: VERBS.finish,
  ...ofEach,
  take(step, way) {
    const { world } = step
    const { worker, name, entry } = held(world, way)
    if (!world.setup.givesBack || !asks(entry) || !mayCall(world, worker)) return false
    reportEnd(step, sentBy(world, name, entry, 3))
    world.freeEntry(entry)
    return true
  },
}

export const workers = [
  gate,
  gateUnheard,
  start,
  report,
  reportUnheard,
  renew,
  renewUnheard,
  ...[0, 1, 2].flatMap((outcome) => [end(true, outcome), end(false, outcome)]),
  giveBack,
]

import { excuse } from '../laws.ts'
import { HANDED } from '../store/shard.ts'
import { claimFor, LATE_CLAIM } from './schedulers.ts'
import { letters, PLACES, type Step, type Transition, VERBS } from './transition.ts'
import { askGate, asks, reportEnd, reportTaken, type Sent, sentBy } from './worker-calls.ts'
import { describeHeld, held, mayAskGate, mayCall, ofEntries } from './workers.ts'
import {
  ENDING,
  ENDING_REPORTED,
  FREE,
  GATED,
  OUTCOMES,
  QUEUED,
  REPORTED,
  STARTED,
  WORKERS,
  type World,
} from './world.ts'

const LATE_GATE = 2
const LATE_START = 3
const LATE_FINISH = 4
const LATE_RENEW = 5
const LATE_SETTLE = 6
const LATE_NAMES = ['', 'claim', 'gate', 'start', 'finish', 'renew', 'settlement']

const deliveries = (world: World) => world.deliveries.length
const ofDelivery = {
  ways: (world: World) => WORKERS * deliveries(world),
  describe: (world: World, way: number) => {
    const { job } = world.deliveries[way % deliveries(world)]!
    return `job ${letters[job - 1]} to worker ${Math.floor(way / deliveries(world)) + 1}`
  },
}

/** The worker takes it on; one that it holds already it holds once. */
function deliver(world: World, way: number, staysThere: boolean): boolean {
  const worker = world.workers[Math.floor(way / deliveries(world))]!
  const pair = world.deliveries[way % deliveries(world)]!
  if (pair.job === 0 || worker.state.isStopped === 1 || world.globals.isAway === 1) return false
  const { job, epoch } = pair
  const isHeld = worker.entries.some((entry) => entry.job === job && entry.epoch === epoch)
  const free = worker.entries.find(({ phase }) => phase === FREE)
  if (!isHeld && free === undefined) return false
  if (!isHeld) Object.assign(free!, { phase: QUEUED, job, epoch, until: world.setup.durations.lease })
  if (!staysThere) Object.assign(pair, { job: 0, epoch: 0 })
  return true
}

const arrive: Transition = {
  name: 'BullMQ delivers',
  verb: PLACES.receive,
  ...ofDelivery,
  take: ({ world }, way) => deliver(world, way, false),
}

const deliverTwice: Transition = {
  name: 'BullMQ delivers, and will deliver again',
  verb: PLACES.receive,
  isFault: true,
  ...ofDelivery,
  take: ({ world }, way) => world.spend('doubled') && deliver(world, way, true),
}

const drop: Transition = {
  name: 'BullMQ loses a delivery',
  verb: PLACES.receive,
  isFault: true,
  ways: deliveries,
  describe: (world, way) => `job ${letters[world.deliveries[way]!.job - 1]}`,
  take({ world }, way) {
    const pair = world.deliveries[way]!
    if (pair.job === 0 || !world.spend('dropped')) return false
    excuse(world, pair.job - 1)
    Object.assign(pair, { job: 0, epoch: 0 })
    return true
  },
}

const spendOn = (world: World, verb: number) =>
  world.spend('late') || (verb === LATE_SETTLE && world.spend('settled-late'))

/** The call is sent and does not arrive yet; its sender takes it for failed. */
function delayed(verb: number, script: string, outcome: number): Transition {
  const what = outcome > 0 ? ` (${OUTCOMES[outcome]})` : ''
  return {
    name: `its ${LATE_NAMES[verb]}${what} is delayed`,
    verb: script,
    isFault: true,
    ways: ofEntries,
    describe: describeHeld,
    take({ world }, way) {
      const it = held(world, way)
      const { entry, worker, name } = it
      const { phase } = entry
      if (world.late.verb !== 0 || phase === FREE || !mayCall(world, worker)) return false
      const isRight =
        verb === LATE_GATE
          ? mayAskGate(world, it)
          : verb === LATE_START
            ? phase === STARTED
            : verb === LATE_RENEW
              ? true
              : verb === LATE_SETTLE
                ? (phase === STARTED || phase === REPORTED) && world.globals.settles > 0
                : outcome === 3
                  ? world.setup.givesBack && asks(entry)
                  : phase === STARTED || phase === REPORTED
      const isLeft = outcome !== 1 || world.globals.retries > 0
      if (!isRight || !isLeft || !spendOn(world, verb)) return false
      if (verb === LATE_GATE && phase === GATED) {
        Object.assign(entry, { phase: QUEUED, hasMissed: 1, startAt: world.ends.never })
      }
      if (outcome === 1) world.globals.retries -= 1
      if (verb === LATE_SETTLE) world.globals.settles -= 1
      send(world, verb, sentBy(world, name, entry, outcome), outcome)
      if (verb === LATE_FINISH && outcome === 3) world.freeEntry(entry)
      else if (verb === LATE_FINISH) {
        Object.assign(entry, { phase: phase === REPORTED ? ENDING_REPORTED : ENDING, outcome })
      }
      return true
    },
  }
}

function send({ late, ends }: World, verb: number, sent: Sent, outcome: number): void {
  const { worker, job, epoch, missed = ends.never, startedAt = ends.never, isLatest } = sent
  Object.assign(late, {
    verb,
    worker,
    job: job + 1,
    epoch,
    missed,
    startedAt,
    outcome,
    isLatest: Number(isLatest),
  })
}

const land: Transition = {
  name: 'the delayed call arrives; its sender does not hear the answer',
  verb: PLACES.network,
  ways: () => 1,
  describe: ({ late }) => `${LATE_NAMES[late.verb]}${late.job > 0 ? ` of job ${letters[late.job - 1]}` : ''}`,
  take(step) {
    const { world } = step
    const { late, globals, ends } = world
    if (late.verb === 0 || globals.isAway === 1) return false
    const { verb, worker, epoch } = late
    const at = (time: number) => (time === ends.never ? undefined : time)
    const sent: Sent = {
      worker,
      job: late.job - 1,
      epoch,
      missed: at(late.missed),
      startedAt: at(late.startedAt),
      outcome: OUTCOMES[late.outcome]!,
      isLatest: late.isLatest === 1,
    }
    world.forgetLate()
    arriveAt(step, verb, sent)
    return true
  },
}

function arriveAt(step: Step, verb: number, sent: Sent): void {
  const { world, calls } = step
  const { worker, job, epoch, startedAt = 0 } = sent
  if (verb === LATE_CLAIM) {
    for (const claimed of claimFor(step, worker) ?? []) excuse(world, claimed)
  } else if (verb === LATE_GATE) askGate(step, sent)
  else if (verb === LATE_START) calls.start(job, epoch, startedAt)
  else if (verb === LATE_RENEW) calls.renew([{ job, epoch }])
  else if (verb === LATE_SETTLE) reportTaken(step, sent)
  else reportEnd(step, sent)
}

/** The process that had it is gone. */
export function excuseHanded(world: World, job: number, epoch: number): void {
  const record = world.shard.jobs[job]!
  if (record.state === HANDED && record.epoch === epoch) excuse(world, job)
}

export const network = [
  arrive,
  deliverTwice,
  drop,
  delayed(LATE_GATE, VERBS.gate, 0),
  delayed(LATE_START, VERBS.start, 0),
  delayed(LATE_FINISH, VERBS.finish, 0),
  delayed(LATE_FINISH, VERBS.finish, 1),
  delayed(LATE_FINISH, VERBS.finish, 3),
  delayed(LATE_RENEW, VERBS.renew, 0),
  delayed(LATE_SETTLE, VERBS.settle, 0),
  land,
]

import { isFull } from '../store/places.ts'
import { GRANTED, RUNNING } from '../store/shard.ts'
import { chargesOf, roomAt } from '../store/usage.ts'
import type { Outcome } from '../store/verbs/finish.ts'
import { mayAsk } from '../store/verbs/gate.ts'
import { noteFreeze } from './producers.ts'
import type { Step } from './transition.ts'
import {
  DONE,
  ENDING_REPORTED,
  type Entry,
  FREE,
  GATED,
  OUTCOMES,
  QUEUED,
  REPORTED,
  STARTED,
  WAITS,
  type Worker,
  type World,
} from './world.ts'

/** What a call carries, as it was when it was sent: a call that is delayed arrives with it. */
export interface Sent {
  readonly worker: number
  readonly job: number
  readonly epoch: number
  readonly missed: number | undefined
  readonly startedAt: number | undefined
  readonly outcome: Outcome
  readonly isLatest: boolean
}

export function sentBy(world: World, worker: number, entry: Entry, outcome = entry.outcome): Sent {
  const knowsStart = entry.phase === REPORTED || entry.phase === ENDING_REPORTED
  return {
    worker,
    job: entry.job - 1,
    epoch: entry.epoch,
    missed: entry.hasMissed === 1 ? entry.slot : undefined,
    startedAt: knowsStart || entry.startedAt === world.ends.never ? undefined : entry.startedAt,
    outcome: OUTCOMES[outcome]!,
    isLatest: entry.isLatest === 1,
  }
}

export function askGate({ world, calls }: Step, { worker, job, epoch, missed }: Sent, isChecked = false) {
  const wasExempt = world.told[job]!.isExempt === 1
  const slot = world.shard.jobs[job]!.slot
  const answer = calls.gate({ job, epoch, worker, missed, isChecked })
  // With another slot it had none before the freeze.
  if (wasExempt && world.shard.jobs[job]!.slot !== slot) world.told[job]!.isExempt = 0
  return answer
}

/** Whether the gate would answer it, where a mutant looks before it writes. */
export function lookAtGate({ shard }: World, { worker, job, epoch }: Sent): boolean {
  return mayAsk(shard, { job, epoch, worker, fence: () => 0 })
}

/** Only of mutants: what the gate reads is read in a step of its own. */
export function looksFirst({ shard }: World, { job }: Sent): boolean {
  if (shard.has('places-read-before')) return !isFull(shard)
  if (shard.has('quota-read-before')) return roomAt(shard, chargesOf(shard, job), 0) <= 0
  return shard.has('gate-in-two-steps')
}

/** Reports an end, and judges what the store makes of it. */
export function reportEnd({ world, calls }: Step, sent: Sent): boolean {
  const { job, epoch, worker, outcome, startedAt, isLatest } = sent
  const told = world.told[job]!
  const { setup, shard } = world
  const delay = delayAfter(outcome, world)
  const stateBefore = shard.jobs[job]!.state
  const isMine = calls.finish({ job, epoch, worker, startedAt, outcome, delay })
  const hasChanged = shard.jobs[job]!.state !== stateBefore
  if (isMine && hasChanged && outcome !== 'back' && !isLatest) world.breaks('fenced-out end')
  if (!isMine || !hasChanged || outcome === 'back') return isMine
  if (outcome === 'retry') Object.assign(told, { spare: 1, isRetry: setup.retries > 0 ? 1 : 0, passed: 0 })
  if (outcome === 'freeze') {
    told.spare = Math.min(3, told.spare + 1)
    noteFreeze(world, delay)
  }
  if (outcome === 'completed' && told.told < DONE) told.told = DONE
  return isMine
}

/** Says what an attempt took, and judges what the store makes of it. */
export function reportTaken({ world, calls }: Step, sent: Sent): void {
  const { job, epoch, startedAt, isLatest } = sent
  const { state, epoch: current } = world.shard.jobs[job]!
  const { tokens = 0, took = tokens } = world.setup.jobs[job]!
  const isLive = isLatest && current === epoch && (state === GRANTED || state === RUNNING)
  const counts = isLive && world.ledger.settle(job, took)
  const isTaken = calls.settle({ job, epoch, startedAt, tokens: took })
  if (counts && !isTaken && world.globals.isLossy === 0) world.breaks('L10 settlement lost')
}

function delayAfter(outcome: Sent['outcome'], world: World): number {
  switch (outcome) {
    case 'retry':
      return retryDelay(world)
    case 'freeze':
      return freezeDelay(world)
    case 'back':
      return world.setup.away
    case 'completed':
      return 0
  }
}

function retryDelay({ setup }: World): number {
  return Math.min(1, setup.limits[0]!.interval - 1)
}

function freezeDelay({ setup }: World): number {
  return setup.durations.farthest + 1
}

/** The clock of the store was moved, as its answer shows: slots from before are void. */
export function noticeClock({ state, entries }: Worker, { ends }: World): void {
  if (state.skew === 0) return
  state.unreported += state.skew
  state.skew = 0
  for (const entry of entries) {
    if (entry.phase !== GATED) continue
    Object.assign(entry, { phase: QUEUED, hasMissed: 1, startAt: ends.never })
  }
}

export const holds = ({ phase }: Entry) => phase !== FREE
export const runs = ({ phase }: Entry) => phase >= STARTED && phase !== WAITS
export const asks = ({ phase }: Entry) => phase !== FREE && !runs({ phase } as Entry)

import type { Costs } from '../core/usage.ts'
import type { AnswerEvent, StartEvent } from './history.ts'
import type { Charge } from './quota-count.ts'

/**
 * The states of a job, as an observer can tell them.
 *
 * - waiting: accepted and not started yet; a start or an end leaves it
 * - returned: its handler returned it, and it waits to start again
 * - running: its handler started; an end, a return or a fault leaves it
 * - interrupted: a fault hit it while it ran; it may run still or wait again
 * - ended: it has its one end state
 * - rejected: it was not accepted
 */
export type JobState = 'waiting' | 'returned' | 'running' | 'interrupted' | 'ended' | 'rejected'

export interface JobRecord {
  readonly id: string
  readonly key: string
  readonly cost: number
  readonly costs: Costs | undefined
  /** False for a job that was rejected, and for one that started and was never accepted. */
  readonly accepted: boolean
  readonly answeredAt: number
  readonly seq: number | undefined
  state: JobState
  /** The attempt that runs, or the number expected of the next. */
  attempt: number
  /** Starts of this attempt, and how many are allowed. */
  starts: number
  startsAllowed: number
  /** Since when it could depart; Infinity while unknown. */
  readySince: number
  /** Its first start, and the position of that start among all events. */
  firstStart: { readonly at: number; readonly place: number } | undefined
  /** A fault or a crash hit it before its first start. */
  hitInLine: boolean
  /** Its last start, what that counts in quotas, and until when it may be settled: Infinity while it runs. */
  lastStart: LastStart | undefined
}

export interface LastStart {
  readonly fence: number | undefined
  readonly isHeld: boolean | undefined
  readonly charge: Charge
  isSettled: boolean
  settleUntil: number
}

/** Whether it has neither been rejected nor ended. */
export function isLive(job: JobRecord): boolean {
  return job.state !== 'ended' && job.state !== 'rejected'
}

/** Whether it waits to start, for the first time or again. */
export function inLine(job: JobRecord): boolean {
  return job.state === 'waiting' || job.state === 'returned'
}

/** Whether its handler runs or may still run. */
export function isRunning(job: JobRecord): boolean {
  return job.state === 'running' || job.state === 'interrupted'
}

/** Creates the record of a job at its first event. */
export function createJob(
  { id, key, cost, costs, at }: AnswerEvent | StartEvent,
  accepted: boolean,
  seq: number | undefined,
): JobRecord {
  return {
    id,
    key,
    cost,
    costs,
    accepted,
    answeredAt: at,
    seq,
    state: accepted ? 'waiting' : 'rejected',
    attempt: 1,
    starts: 0,
    startsAllowed: 1,
    readySince: at,
    firstStart: undefined,
    hitInLine: false,
    lastStart: undefined,
  }
}

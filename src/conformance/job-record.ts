import type { AnswerEvent, StartEvent } from './history.ts'

/**
 * - waiting: accepted and not started yet; a start or an end leaves it
 * - returned: its handler gave it back, and it waits to start again
 * - running: its handler started; an end, a return or a fault leaves it
 * - interrupted: a fault hit it while it ran; nobody outside knows whether it runs still or waits again
 * - ended: it has its one end state
 * - rejected: it was turned away at the rope
 */
export type JobState = 'waiting' | 'returned' | 'running' | 'interrupted' | 'ended' | 'rejected'

export interface JobRecord {
  readonly id: string
  readonly key: string
  readonly cost: number
  /** False for a job that was rejected, and for a ghost: one that started and was never accepted. */
  readonly accepted: boolean
  readonly answeredAt: number
  readonly seq: number | undefined
  state: JobState
  /** The attempt that runs, or that the next start is due to be. */
  attempt: number
  /** Starts of this attempt, and how many there may be. */
  starts: number
  startsAllowed: number
  /** Since when it could depart; never, while that is not known. */
  readySince: number
  /** Its first start, and the place of that start among all events. */
  firstStart: { readonly at: number; readonly place: number } | undefined
  /** A fault or a crash hit it before its first start. */
  hitInLine: boolean
}

/** It has neither been turned away nor ended. */
export function isLive(job: JobRecord): boolean {
  return job.state !== 'ended' && job.state !== 'rejected'
}

/** It waits to start, for the first time or again. */
export function inLine(job: JobRecord): boolean {
  return job.state === 'waiting' || job.state === 'returned'
}

/** Its handler runs, or may run still. */
export function isRunning(job: JobRecord): boolean {
  return job.state === 'running' || job.state === 'interrupted'
}

/** As it is when it is first heard of. */
export function createJob(
  { id, key, cost, at }: AnswerEvent | StartEvent,
  accepted: boolean,
  seq: number | undefined,
): JobRecord {
  return {
    id,
    key,
    cost,
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
  }
}

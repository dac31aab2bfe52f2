import { departures, handlerEnds, lateStarts } from '../core/diagnostics.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import type { Attempt, Settled } from './attempt.ts'
import type { Pace, WorkerJob } from './job.ts'

/** Codes of errors that end an attempt without counting it. */
const ABORTED = ['lease-lost', 'closed', 'started-late'] as const

/** Whether any subscriber of the diagnostics channels wants the pace of a start. */
export function areStartsWatched(): boolean {
  return departures.hasSubscribers || lateStarts.hasSubscribers
}

/** Publishes a start on its diagnostics channel. Times are microseconds of the line's clock. */
export function publishDeparture(
  shaper: string,
  { id, key, attempt, admittedAt }: WorkerJob,
  { pattern, lastStart, spacing }: Pace,
  slot: number,
  startedAt: number,
): void {
  if (!departures.hasSubscribers) return
  departures.publish({
    shaper,
    key,
    pattern,
    id,
    attempt,
    admittedAt,
    slot,
    startedAt,
    lastStart,
    spacing,
  })
}

/** Publishes that a job missed its slot. */
export function publishLateStart(shaper: string, { id, key }: Pick<WorkerJob, 'id' | 'key'>): void {
  if (lateStarts.hasSubscribers) lateStarts.publish({ shaper, key, id })
}

/** Publishes how an attempt settled at `now`, by the clock that timed it. */
export function publishHandlerEnd(
  shaper: string,
  { job, startedAt }: Pick<Attempt<unknown, unknown>, 'job' | 'startedAt'>,
  settled: Settled<unknown>,
  now: number,
): void {
  if (!handlerEnds.hasSubscribers) return
  const { id, key, attempt } = job
  const outcome = settled.ok ? 'completed' : outcomeOfError(settled.error)
  handlerEnds.publish({ shaper, key, id, attempt, outcome, duration: now - startedAt })
}

function outcomeOfError(error: Error) {
  try {
    if (isVelvetRopeError(error, 'freeze')) return 'frozen'
    if (isVelvetRopeError(error, 'handler-timeout')) return 'timeout'
    if (ABORTED.some((code) => isVelvetRopeError(error, code))) return 'aborted'
  } catch {
    // An error whose properties throw is not one of ours.
  }
  return 'failed'
}

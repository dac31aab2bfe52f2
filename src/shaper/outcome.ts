import type { BackendJob } from '../backend/backend.ts'
import type { SharedOutcome } from '../backend/shared-backend.ts'
import { backoffDelay } from '../core/backoff.ts'
import { MILLISECOND } from '../core/duration.ts'
import { FreezeError, isVelvetRopeError } from '../core/errors.ts'
import { messageOf, toError } from '../core/thrown.ts'
import type { Settled } from './attempt.ts'

/** What becomes of a job whose handler was started; durations in microseconds, from the moment at which it settled. */
export type HandlerOutcome = Exclude<SharedOutcome, { kind: 'back' }>

/**
 * What becomes of a job by the way in which its handler settled.
 *
 * @param mayRetry false: a failed attempt is the last, whatever the job's settings say
 * @param random a number from 0 to 1 for the jitter of the backoff, as `Math.random`
 * @param errors told of a result that cannot be kept
 */
export function outcomeOf<Result>(
  settled: Settled<Result>,
  { attempt, settings }: BackendJob,
  mayRetry: boolean,
  random: () => number,
  errors: { fail(error: Error): void },
): HandlerOutcome {
  if (settled.ok) return { kind: 'completed', result: encodeResult(settled.value, errors) }
  const forMs = freezeOf(settled.error)
  if (forMs !== undefined) return { kind: 'freeze', duration: forMs * MILLISECOND }
  const error = messageOf(settled.error)
  if (attempt >= settings.attempts || !mayRetry || isFinal(settled.error)) return { kind: 'failed', error }
  return { kind: 'retry', error, delay: backoffDelay(settings.backoff, attempt, random()) }
}

/** A result is kept as JSON. One that cannot be is told of, and its job is completed all the same. */
function encodeResult(result: unknown, errors: { fail(error: Error): void }): string | undefined {
  try {
    return JSON.stringify(result)
  } catch (error) {
    errors.fail(toError(error))
    return undefined
  }
}

/** Whether the handler said that no retry helps: also by an error of another copy of the package. */
function isFinal(error: Error): boolean {
  try {
    return isVelvetRopeError(error, 'final')
  } catch {
    // What cannot be looked at is none of ours.
    return false
  }
}

/** For how long the handler froze its bucket: also by an error of another copy of the package, if it makes sense. */
function freezeOf(error: Error): number | undefined {
  try {
    if (!isVelvetRopeError(error, 'freeze') || !('forMs' in error)) return undefined
    return new FreezeError({ forMs: error.forMs as number }).forMs
  } catch {
    // What cannot be looked at is none of ours.
    return undefined
  }
}

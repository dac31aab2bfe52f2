import { backoffDelay } from '../core/backoff.ts'
import { MILLISECOND } from '../core/duration.ts'
import { DataTooLargeError, isVelvetRopeError } from '../core/errors.ts'
import { FreezeError } from '../core/handler-errors.ts'
import { messageOf, toError } from '../core/thrown.ts'
import type { Settled } from './attempt.ts'
import type { WorkerJob } from './job.ts'

/** The most that a job keeps of its result, as JSON, and of the text of its error. Events carry both in full. */
const MOST_RESULT_BYTES = 1_048_576
const LONGEST_ERROR = 4_096

/** What happens to a job whose handler has settled; durations are in microseconds from that time. */
export type HandlerOutcome =
  | { readonly kind: 'completed'; readonly result: string | undefined }
  | { readonly kind: 'failed'; readonly error: string }
  /** It may depart again after `delay`. */
  | { readonly kind: 'retry'; readonly error: string; readonly delay: number }
  | {
      readonly kind: 'freeze'
      readonly duration: number
      /** Milliseconds, where the handler asked for more than its worker allows. */
      readonly askedMs: number | undefined
    }

/** Settings of a worker for all its attempts. */
export interface OutcomeRules {
  /** False: a failed attempt is the last, whatever the job's settings say. */
  readonly mayRetry: boolean
  /** No handler freezes its bucket for longer. */
  readonly maxFreezeMs: number
}

/**
 * Decides what happens to a job whose handler has settled.
 *
 * @param random a number from 0 to 1 for the jitter of the backoff, as `Math.random`
 * @param errors gets the error of a result that cannot be kept
 */
export function outcomeOf<Result>(
  settled: Settled<Result>,
  { attempt, settings }: WorkerJob,
  { mayRetry, maxFreezeMs }: OutcomeRules,
  random: () => number,
  errors: { fail(error: Error): void },
): HandlerOutcome {
  if (settled.ok) return { kind: 'completed', result: encodeResult(settled.value, errors) }
  const freeze = freezeOf(settled.error, maxFreezeMs)
  if (freeze !== undefined) {
    return { kind: 'freeze', duration: freeze.forMs * MILLISECOND, askedMs: freeze.askedMs }
  }
  const error = shortened(messageOf(settled.error))
  if (attempt >= settings.attempts || !mayRetry || isFinal(settled.error)) return { kind: 'failed', error }
  return { kind: 'retry', error, delay: backoffDelay(settings.backoff, attempt, random()) }
}

/** Encodes a result as JSON. One that cannot be encoded or is too large is reported; its job is completed all the same. */
function encodeResult(result: unknown, errors: { fail(error: Error): void }): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(result)
    const bytes = text === undefined ? 0 : Buffer.byteLength(text)
    if (bytes > MOST_RESULT_BYTES) throw new DataTooLargeError(bytes, MOST_RESULT_BYTES, 'a result')
    return text
  } catch (error) {
    errors.fail(toError(error))
    return undefined
  }
}

function shortened(text: string): string {
  // No half of a surrogate pair is left at the end.
  return text.length > LONGEST_ERROR
    ? `${text.slice(0, LONGEST_ERROR - 1).replace(/[\ud800-\udbff]$/, '')}…`
    : text
}

/** Whether the handler ruled out retries, also by an error of another copy of the package. */
function isFinal(error: Error): boolean {
  try {
    return isVelvetRopeError(error, 'final')
  } catch {
    // An error whose properties throw is not one of ours.
    return false
  }
}

/** The freeze that the handler asked for, also by an error of another copy of the package. */
function freezeOf(error: Error, maxFreezeMs: number): FreezeRequest | undefined {
  try {
    if (!isVelvetRopeError(error, 'freeze') || !('forMs' in error)) return undefined
    return freezeRequest(error.forMs as number, maxFreezeMs)
  } catch {
    // An error whose properties throw is not one of ours.
    return undefined
  }
}

/** How long to freeze a bucket, in milliseconds; `askedMs` where more was asked for than is allowed. */
export interface FreezeRequest {
  readonly forMs: number
  readonly askedMs?: number
}

/** Cuts a freeze to `atMostMs`. @throws InvalidOptionsError for an invalid duration */
export function freezeRequest(askedMs: number, atMostMs = Number.POSITIVE_INFINITY): FreezeRequest {
  const { forMs } = new FreezeError({
    forMs: typeof askedMs === 'number' ? Math.min(askedMs, atMostMs) : askedMs,
  })
  return forMs < askedMs ? { forMs, askedMs } : { forMs }
}

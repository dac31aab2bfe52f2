import { describe, quote } from './describe.ts'
import { InvalidOptionsError, VelvetRopeError } from './errors.ts'

/**
 * The lease of a running job was lost: its worker stalled, or could not reach Redis, for too long. Another worker may
 * run the job, and the outcome of this handler is discarded. Aborts the job's signal.
 */
export class LeaseLostError extends VelvetRopeError {
  readonly id: string

  /** @param isTurn whether it was a turn that held a place: it has no handler that could run again */
  constructor(id: string, isTurn = false) {
    super(
      'lease-lost',
      isTurn
        ? `the lease of turn ${quote(id)} was lost before it was released: another may have its place`
        : `the lease of job ${quote(id)} was lost: its handler may run again, and its outcome is discarded`,
    )
    this.id = id
  }
}

/**
 * A handler was called in time, but its process stalled before the handler's first statement until the slot had passed.
 * Aborts the job's signal. If the handler fails with this error, or with an `AbortError` in its place, the job returns
 * to its line, and the attempt does not count.
 */
export class StartedLateError extends VelvetRopeError {
  readonly id: string
  /** Milliseconds after the latest allowed start. */
  readonly lateMs: number

  constructor(id: string, lateMs: number) {
    super(
      'started-late',
      `job ${quote(id)} was started ${Math.ceil(lateMs)} ms too late: its process stalled`,
    )
    this.id = id
    this.lateMs = lateMs
  }
}

/** The workers of a job died or stalled while it ran, more often than is allowed; the job failed. */
export class WorkerLostError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super('worker-lost', `job ${quote(id)} failed: each of its workers died or stalled while it ran`)
    this.id = id
  }
}

/** A handler did not settle within `timeoutMs`; its attempt failed and its signal was aborted. */
export class HandlerTimeoutError extends VelvetRopeError {
  readonly timeoutMs: number

  constructor(id: string, timeoutMs: number) {
    super('handler-timeout', `the handler of job ${quote(id)} did not settle within ${timeoutMs} ms`)
    this.timeoutMs = timeoutMs
  }
}

/**
 * Throw it in a handler if the third party asks to retry later (429 with Retry-After, say). The bucket has no
 * departures for `forMs`, the job returns to the head of its line, and the attempt does not count.
 */
export class FreezeError extends VelvetRopeError {
  /** Milliseconds. */
  readonly forMs: number

  constructor(options: { forMs: number }) {
    const forMs: unknown = options?.forMs
    if (!(typeof forMs === 'number' && forMs > 0 && forMs <= LONGEST_FREEZE_MS)) {
      throw new InvalidOptionsError(
        `expected forMs to be a number of milliseconds above 0 and at most 366 days, got: ${describe(forMs)}`,
      )
    }
    super('freeze', `freeze the bucket for ${forMs} ms`)
    this.forMs = forMs
  }
}

export const LONGEST_FREEZE_MS = 366 * 86_400_000

/** Throw it in a handler if a retry would not help. The job fails at once, even if attempts are left. */
export class FinalError extends VelvetRopeError {
  constructor(message: string, options?: ErrorOptions) {
    super('final', message, options)
  }
}

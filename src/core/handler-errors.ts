import { describe, quote } from './describe.ts'
import { InvalidOptionsError, VelvetRopeError } from './errors.ts'

/**
 * The lease of a running job was lost: its worker stood still, or could not reach the store, for too long. Another
 * worker may run the job; what this handler did is not counted. Aborts the job's signal.
 */
export class LeaseLostError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super(
      'lease-lost',
      `the lease of job ${quote(id)} was lost: its handler may run again, and its outcome is not kept`,
    )
    this.id = id
  }
}

/**
 * A handler was called in time, but its process stood still before the handler's first statement, until the slot was
 * past. Aborts the job's signal. When the handler fails with this error, or with an `AbortError` in its place, the job goes
 * back to its line with its attempt.
 */
export class StartedLateError extends VelvetRopeError {
  readonly id: string
  /** Milliseconds after the last moment at which it might have started. */
  readonly lateMs: number

  constructor(id: string, lateMs: number) {
    super(
      'started-late',
      `job ${quote(id)} was started ${Math.ceil(lateMs)} ms too late: its process stood still in between`,
    )
    this.id = id
    this.lateMs = lateMs
  }
}

/** The workers of a job died or stood still while it ran, once too often; the job failed. */
export class WorkerLostError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super('worker-lost', `job ${quote(id)} failed: each of its workers died or stood still while it ran`)
    this.id = id
  }
}

/** A handler did not settle within `timeoutMs`; its attempt counts as failed and its signal was aborted. */
export class HandlerTimeoutError extends VelvetRopeError {
  readonly timeoutMs: number

  constructor(id: string, timeoutMs: number) {
    super('handler-timeout', `the handler of job ${quote(id)} did not settle within ${timeoutMs} ms`)
    this.timeoutMs = timeoutMs
  }
}

/**
 * Thrown by a handler: the other side said to come back later (429 and Retry-After, say). The bucket departs
 * nothing for `forMs`, the job goes back to the head of its line, and no attempt is used up.
 */
export class FreezeError extends VelvetRopeError {
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

/** Thrown by a handler: to try again would not help. The job fails now, whatever attempts it has left. */
export class FinalError extends VelvetRopeError {
  constructor(message: string, options?: ErrorOptions) {
    super('final', message, options)
  }
}

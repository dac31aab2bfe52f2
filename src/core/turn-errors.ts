import { quote } from './describe.ts'
import { VelvetRopeError } from './errors.ts'
import type { RejectReason } from './verdict.ts'

/**
 * Nobody may wait for his turn here, or not for so long: the line is full, or it ends beyond the timeout. The same
 * request is accepted after `retryAfterMs` if nobody else comes in between.
 */
export class TurnRefusedError extends VelvetRopeError {
  readonly key: string
  /** Of `acquire` that of a rejection; `not-now` where the refusal of a `tryAcquire` is thrown. */
  readonly reason: RejectReason | 'not-now'
  readonly retryAfterMs: number
  /** Cost units that wait, and that may wait. */
  readonly waiting: number
  readonly capacity: number
  /** A limit of this process alone refused him, and these numbers are of that. */
  readonly local?: true

  constructor(refusal: Omit<TurnRefusedError, keyof VelvetRopeError>) {
    const { key, reason, retryAfterMs, waiting, capacity, local } = refusal
    super(
      'turn-refused',
      `no turn for the key ${quote(key)} (${reason}): ${waiting} of ${capacity} cost units ` +
        `${local ? 'of the limit of this process are taken' : 'wait'}, ` +
        (retryAfterMs === Number.POSITIVE_INFINITY ? 'it never fits' : `come back after ${retryAfterMs} ms`),
    )
    this.key = key
    this.reason = reason
    this.retryAfterMs = retryAfterMs
    this.waiting = waiting
    this.capacity = capacity
    if (local) this.local = local
  }
}

/** A turn that was promised in time did not come within the timeout: its bucket was frozen, say. Its place was given back. */
export class TurnTimeoutError extends VelvetRopeError {
  readonly key: string
  readonly timeoutMs: number

  constructor(key: string, timeoutMs: number) {
    super('turn-timeout', `the turn for the key ${quote(key)} did not come within ${timeoutMs} ms`)
    this.key = key
    this.timeoutMs = timeoutMs
  }
}

/** Somebody else took the place of a caller out of the line: cancelled it by its id, or gave the caller up for dead. */
export class TurnCancelledError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super('turn-cancelled', `the turn ${quote(id)} was taken out of its line while its caller waited`)
    this.id = id
  }
}

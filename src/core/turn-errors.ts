import { quote } from './describe.ts'
import { VelvetRopeError } from './errors.ts'
import type { RejectReason } from './verdict.ts'

/**
 * No turn within the timeout: the line is full, or longer than the timeout. The same request is accepted after
 * `retryAfterMs` if no other comes in between.
 */
export class TurnRefusedError extends VelvetRopeError {
  readonly key: string
  /** The reason of the rejection; `not-now` if it came from `tryAcquire`. */
  readonly reason: RejectReason | 'not-now'
  /** After this many milliseconds the same request is accepted; Infinity if it never fits. */
  readonly retryAfterMs: number
  /** Cost units that wait, and the maximum. */
  readonly waiting: number
  readonly capacity: number
  /** The quota that the turn alone exceeds, as text such as `90000 tokens/minute`; only if it is too costly for one. */
  readonly quota?: string
  /** A local limit rejected it, and these numbers are those of that limit. */
  readonly local?: true

  constructor(refusal: Omit<TurnRefusedError, keyof VelvetRopeError>) {
    const { key, reason, retryAfterMs, waiting, capacity, quota, local } = refusal
    const again =
      retryAfterMs === Number.POSITIVE_INFINITY ? 'it never fits' : `retry after ${retryAfterMs} ms`
    super('turn-refused', `no turn for the key ${quote(key)} (${reason}): ${obstacleOf(refusal)}, ${again}`)
    this.key = key
    this.reason = reason
    this.retryAfterMs = retryAfterMs
    this.waiting = waiting
    this.capacity = capacity
    if (quota !== undefined) this.quota = quota
    if (local) this.local = local
  }
}

type Refusal = Pick<TurnRefusedError, 'reason' | 'waiting' | 'capacity' | 'quota' | 'local'>

function obstacleOf({ reason, waiting, capacity, quota, local }: Refusal): string {
  const whole = quota === undefined ? `capacity of ${capacity} cost units` : `quota of ${quota}`
  if (reason === 'too-costly') return `it alone exceeds the whole ${whole}${local ? ' of a local limit' : ''}`
  return `${waiting} of ${capacity} cost units ${local ? 'of a local limit are taken' : 'wait'}`
}

/**
 * A turn that was promised in time did not come within the timeout, because its bucket was frozen, say. Its place in
 * the line was released.
 */
export class TurnTimeoutError extends VelvetRopeError {
  readonly key: string
  readonly timeoutMs: number

  constructor(key: string, timeoutMs: number) {
    super('turn-timeout', `the turn for the key ${quote(key)} did not come within ${timeoutMs} ms`)
    this.key = key
    this.timeoutMs = timeoutMs
  }
}

/** The answer to a request does not say what it counted in a unit, so that the estimate of its turn stands. */
export class UnsettledError extends VelvetRopeError {
  readonly key: string
  readonly unit: string

  constructor(key: string, unit: string, reason: string) {
    super('unsettled', `a turn of the key ${quote(key)} keeps its estimate in ${unit}: ${reason}`)
    this.key = key
    this.unit = unit
  }
}

/** The turn was cancelled: by its id, or because its process was considered lost. */
export class TurnCancelledError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super('turn-cancelled', `the turn ${quote(id)} was cancelled while its caller waited`)
    this.id = id
  }
}

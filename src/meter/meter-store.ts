import type { MeterFill, MeterState } from '../core/meter.ts'
import type { QuotaMeterFill, QuotaMeterState } from '../core/meter-quotas.ts'
import type { Awaitable } from '../line/awaitable.ts'

/**
 * Stores the levels of meters: three verbs, each atomic, with the time of the store's own clock. Only tests pass `now`,
 * in microseconds. Included are stores in memory, in Redis and in PostgreSQL; any other that keeps this contract works,
 * too.
 *
 * For your own store, `velvet-rope/meter` has the algorithm: in one atomic step, take the stored state, or
 * `EMPTY_METER`, store the state that `fillMeter(state, request, now)` returns, and return it.
 *
 * A synchronous store may return fills and readings without a promise.
 *
 * @throws BackendUnavailableError from every verb if the store does not reply; whether it ran is then unknown
 */
export interface MeterStore {
  /**
   * Applies the leak since the last fill, then adds the amount, or the part that fits, or nothing: `fillMeter`. Store
   * the state if any of its four numbers changed, until `forgottenAt(state)` or longer.
   */
  fill(request: FillRequest, now?: number): Awaitable<Filled>
  /** Reads without writing. */
  read(meter: MeterId, now?: number): Awaitable<Reading>
  /** Empties the level and lifts a block. */
  drain(meter: MeterId): Promise<void>
  /** Resolves when all connections that the store has opened are closed. */
  close(): Promise<void>
  /** The same for limits with quotas. Absent: such limits are refused. */
  readonly quotas?: QuotaMeterVerbs | undefined
}

/**
 * The verbs of a store for limits with quotas. Level and quotas are one state: what one of them stores, the other verbs of the store
 * read, too. `drain` empties both.
 */
export interface QuotaMeterVerbs {
  /** Fills the bucket and charges every quota, or does neither: `fillMeterQuotas`. Store the state until `quotasForgottenAt(state)`. */
  fill(request: QuotaFillRequest, now?: number): Awaitable<QuotaFilled>
  /** Reads without writing. */
  read(meter: MeterId, now?: number): Awaitable<QuotaReading>
}

/** Identifies a level: `name` is that of the meter, `key` that of one of its buckets; both are user data. */
export interface MeterId {
  readonly name: string
  readonly key: string
}

export interface FillRequest extends MeterId, MeterFill {}

export interface Reading {
  /** The stored state. Undefined: none is stored, so it is empty and not blocked. */
  readonly state: MeterState | undefined
  /** The time of the reading, by the clock of the store. */
  readonly now: number
}

export interface Filled {
  /** The whole amount went in. */
  readonly accepted: boolean
  /** The state after the fill. */
  readonly state: MeterState
  readonly now: number
}

export interface QuotaFillRequest extends MeterId, QuotaMeterFill {}

export interface QuotaReading extends Reading {
  readonly state: QuotaMeterState | undefined
}

export interface QuotaFilled extends Filled {
  readonly state: QuotaMeterState
}

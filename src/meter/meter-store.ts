import type { MeterFill, MeterState } from '../core/meter.ts'
import type { Awaitable } from '../line/awaitable.ts'

/**
 * What keeps the levels of meters: three verbs, each atomic, none with a clock of its own to read outside the store.
 * `now`, in microseconds, is passed by tests alone; the store's own clock is the one that counts. Anything that keeps
 * this contract will do; ours are in memory, in Redis and in PostgreSQL.
 *
 * For a store of your own `velvet-rope/meter` has the algorithm: within one atomic step, take the state that is kept, or
 * `EMPTY_METER`, keep what `fillMeter(state, request, now)` answers as the state, and answer it.
 *
 * One that waits for nobody may answer fills and readings at once, without a promise.
 *
 * @throws BackendUnavailableError from every verb when the store does not answer; whether it ran is then unknown
 */
export interface MeterStore {
  /**
   * Leaks what has leaked since, then adds the amount, or what of it fits, or nothing: `fillMeter`. What is kept changes
   * where the state does, all four numbers of it, and is kept until `forgottenAt(state)`, or longer.
   */
  fill(request: FillRequest, now?: number): Awaitable<Filled>
  /** Writes nothing. */
  read(meter: MeterId, now?: number): Awaitable<Reading>
  /** Empties it, and lifts a block. */
  drain(meter: MeterId): Promise<void>
  /** Resolves when nothing is connected that the store has connected itself. */
  close(): Promise<void>
}

/** One level. `name` is that of the meter, `key` names one of its buckets; both are data of users. */
export interface MeterId {
  readonly name: string
  readonly key: string
}

export interface FillRequest extends MeterId, MeterFill {}

export interface Reading {
  /** As it was kept. Undefined: it is empty and not blocked, and nothing is. */
  readonly state: MeterState | undefined
  /** When it was read, by the clock of the store. */
  readonly now: number
}

export interface Filled {
  /** The whole amount went in. */
  readonly accepted: boolean
  /** As the fill left it. */
  readonly state: MeterState
  readonly now: number
}

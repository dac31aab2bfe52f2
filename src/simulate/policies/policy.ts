import type { Limit } from '../../core/limit.ts'

/** A way to hold arrivals to a limit, and how the limit's two numbers are read by it. */
export interface Policy {
  readonly name: string
  /** The rule in words, with the numbers of `limit`. */
  mapping(limit: Limit): string
  /** @param origin when the recording starts, in microseconds */
  open(limit: Limit, origin: number): PolicyState
}

/** One key under one policy. `now` never goes back. */
export interface PolicyState {
  /** When the job starts, in microseconds; undefined when it is turned away. */
  offer(cost: number, now: number): number | undefined
  /** Whether a state opened anew would behave exactly like this one. */
  isOver(now: number): boolean
}

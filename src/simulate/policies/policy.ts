import type { Limit } from '../../core/limit.ts'
import type { CountedJob } from '../../core/usage.ts'

/** A policy that enforces a limit, and how it interprets the parts of the limit. */
export interface Policy {
  readonly name: string
  /** The rule in words, with the numbers of `limit`. */
  mapping(limit: Limit): string
  /** @param origin when the recording starts, in microseconds */
  open(limit: Limit, origin: number): PolicyState
}

/** One key under one policy. `now` never goes back. */
export interface PolicyState {
  /** The start of the job, in microseconds; undefined if it is rejected. */
  offer(job: CountedJob, now: number): number | undefined
  /** Whether a new state would behave exactly like this one. */
  isOver(now: number): boolean
}

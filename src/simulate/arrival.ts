import type { Costs } from '../core/usage.ts'

/** One request to run a job. Arrivals come in the order of `at`. */
export interface Arrival {
  /** Microseconds from the start of the recording. */
  readonly at: number
  readonly key: string
  /** Whole cost units, at least 1. */
  readonly cost: number
  /** What it counts in quotas of other units, where it says so. */
  readonly costs?: Costs
}

/** Arrivals in batches: one promise per arrival would cost more than judging it. */
export type ArrivalBatches = AsyncIterable<readonly Arrival[]> | Iterable<readonly Arrival[]>

/** Times closer than this count as equal, so that three thirds of a second are a second. Microseconds. */
export const NANOSECOND = 0.001

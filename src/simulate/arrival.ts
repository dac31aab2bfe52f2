/** One request to run a job. Arrivals come in the order of `at`. */
export interface Arrival {
  /** Microseconds from the start of the recording. */
  readonly at: number
  readonly key: string
  /** Whole cost units, at least 1. */
  readonly cost: number
}

/** Where arrivals come from, many at a time: one promise per arrival would take longer than judging it. */
export type ArrivalBatches = AsyncIterable<readonly Arrival[]> | Iterable<readonly Arrival[]>

/** Times that lie closer than this are the same: three thirds of a second must make a second. Microseconds. */
export const NANOSECOND = 0.001

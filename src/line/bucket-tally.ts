import type { BucketState } from '../core/job.ts'

/** Sums over live buckets. */
export interface BucketTally {
  buckets: number
  readonly states: Record<BucketState, number>
  /** Cost units in the lines. */
  waiting: number
  /** Jobs in the lines, jobs to be tried again, handlers that run. */
  jobs: number
  retrying: number
  running: number
}

/** The keys, with those below them, that are summed together; none: every key. */
export type TallyGroup = readonly string[]

export function emptyTally(): BucketTally {
  const states = { idle: 0, waiting: 0, full: 0, frozen: 0, paused: 0 }
  return { buckets: 0, states, waiting: 0, jobs: 0, retrying: 0, running: 0 }
}

/** What the totals above a bucket have to do with it: `bucket.member` of the scripts, which call it at the same places. */
export interface Member {
  /** Its own limit lets its head go from then on; and what it holds counts in the totals from now on. */
  stand(due: number): void
  /** A job is handed over, or, with -1, comes back without having started. */
  hand(job: number, sign: 1 | -1): void
  /** Why the totals have no room for a job that is to wait; undefined: they have. */
  refuses(cost: number): 'full' | 'paused' | undefined
  /** A job has joined the line. */
  join(job: number): void
  /** The time from `at` on at which all totals let the job start; undefined: one has no place. */
  earliest(job: number, at: number): number | undefined
  /** Reserves a slot of each total, and returns the latest time of that. */
  reserve(job: number, startAt: number): number
  /** Whether another job has the only slot of a total. */
  isBusy(): boolean
  /** Gives back the slots of the granted job. */
  unreserve(): void
  start(job: number, at: number): void
}

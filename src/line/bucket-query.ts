import { z } from 'zod'
import { BUCKET_STATES, type BucketState, type BucketView } from '../core/bucket-view.ts'

/** What buckets can be sorted by: every column of the view that a table can show. */
export const SORT_COLUMNS = [
  'key',
  'pattern',
  'state',
  'fill',
  'waiting',
  'capacity',
  'jobs',
  'retrying',
  'running',
  'nextDepartureAt',
  'oldestWaitMs',
  'lastUsedAt',
] as const
export type SortColumn = (typeof SORT_COLUMNS)[number]

/** Which live buckets to list, and in which order. */
export const bucketQuerySchema = z.strictObject({
  /** Only keys that begin with this text. Default: every key. */
  prefix: z.string().default(''),
  /** Only this key and those below it: `a/b` is below `a`, `ab` is not. */
  under: z.string().min(1).optional(),
  /** Only buckets that the rule with exactly this pattern governs. */
  pattern: z.string().min(1).optional(),
  /** Only buckets at least this full, 0 to 1. Default 0. */
  minFill: z.number().min(0).max(1).default(0),
  /** Only buckets at most this full. A lowered capacity can leave a fill above 1, so there is no default. */
  maxFill: z.number().min(0).optional(),
  /** Only buckets in this state. Default: buckets in all states. */
  state: z.enum(BUCKET_STATES).optional(),
  /** Only buckets in which a job has waited at least so many milliseconds. */
  minOldestWaitMs: z.number().min(0).optional(),
  /**
   * A field of the view, with `-` in front for the largest first. A shared line keeps an order by `fill`; for any other it
   * reads all buckets, in slices. Default `-fill`.
   */
  sort: z.enum([...SORT_COLUMNS, ...SORT_COLUMNS.map((field) => `-${field}` as const)]).default('-fill'),
  /** Buckets on a page, 1 to 1,000. Default 100. */
  limit: z.int().min(1).max(1_000).default(100),
  /** The `cursor` of the page before. */
  cursor: z.string().optional(),
})

export type BucketQueryInput = z.input<typeof bucketQuerySchema>
export type BucketQuery = z.output<typeof bucketQuerySchema>

/** One page of live buckets. */
export interface BucketPage {
  readonly buckets: readonly BucketView[]
  /** How many buckets the query matches, on all pages. */
  readonly total: number
  /** There are so many and perhaps more: to count them all would have taken longer than to find these. */
  readonly isAtLeast?: true
  /** Pass it on to get the next page; absent on the last. */
  readonly cursor?: string
}

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

/** Keys that are summed together, with the keys below them; empty: every key. */
export type TallyGroup = readonly string[]

export function emptyTally(): BucketTally {
  const states = { idle: 0, waiting: 0, full: 0, frozen: 0, paused: 0 }
  return { buckets: 0, states, waiting: 0, jobs: 0, retrying: 0, running: 0 }
}

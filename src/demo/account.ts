import { type Limit, parseLimit } from '../core/limit.ts'

/** An account of the third-party API: its limit there, and how its producers create jobs. */
export interface Account {
  readonly key: string
  /** The limit of the shaper; the API enforces the same interval. */
  readonly limit: Limit
  /** The bursts: when each begins, in milliseconds, and its number of jobs. */
  readonly bursts: readonly (readonly [atMs: number, jobs: number])[]
}

/**
 * Three accounts whose bursts always overfill a line and never let it run empty. A tenth of an interval is at least 20
 * ms: a busy machine may stop a process for 10 ms between the start of a handler and the arrival at the API.
 */
export const ACCOUNTS: readonly Account[] = [
  {
    key: 'acme',
    limit: parseLimit('6, 2/s'),
    bursts: [
      [0, 5],
      [800, 4],
      [1_550, 5],
    ],
  },
  {
    key: 'globex',
    limit: parseLimit('12, 4/s'),
    bursts: [
      [100, 11],
      [900, 6],
      [1_500, 4],
      [2_000, 8],
    ],
  },
  {
    key: 'initech',
    limit: parseLimit('15, 5/s'),
    bursts: [
      [50, 14],
      [600, 7],
      [1_200, 3],
      [1_600, 9],
      [2_200, 8],
    ],
  },
]

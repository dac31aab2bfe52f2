import { type Limit, parseLimit } from '../core/limit.ts'

/** A customer of the third-party API: what the API allows it, and how its producers make jobs. */
export interface Account {
  readonly key: string
  /** The rope's limit; its interval is also the one that the API enforces. */
  readonly limit: Limit
  /** When each burst begins, in milliseconds, and how many jobs it has. */
  readonly bursts: readonly (readonly [atMs: number, jobs: number])[]
}

/**
 * Three accounts whose bursts always overfill a line and never leave it empty. A tenth of an interval is 20 ms and
 * more: a busy machine may stop a process for 10 ms between the start of a handler and the API's door.
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

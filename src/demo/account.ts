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
 * Three accounts whose bursts never leave a line empty and always overfill it. The tolerance is a fifth of what the
 * API forgives the fastest of them: the rest is for what lies between a handler's start and the API's door.
 */
export const ACCOUNTS: readonly Account[] = [
  {
    key: 'acme',
    limit: parseLimit('15, 5/s, tolerance 1ms'),
    bursts: [
      [0, 12],
      [700, 9],
      [1_300, 2],
      [1_900, 11],
    ],
  },
  {
    key: 'globex',
    limit: parseLimit('30, 10/s, tolerance 1ms'),
    bursts: [
      [150, 26],
      [900, 18],
      [1_500, 12],
      [2_200, 14],
    ],
  },
  {
    key: 'initech',
    limit: parseLimit('60, 20/s, tolerance 1ms'),
    bursts: [
      [50, 45],
      [500, 30],
      [1_100, 8],
      [1_600, 25],
      [2_350, 24],
    ],
  },
]

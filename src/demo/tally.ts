import type { AccountLog } from './run-log.ts'

/** What became of one account's jobs in one run. */
export interface Tally {
  readonly accepted: number
  readonly rejected: number
  /** What the API saw, and how many of these it answered 429. */
  readonly calls: number
  readonly refused: number
  /** Between two calls at the API's door, in intervals of the limit; not a number when there was one call only. */
  readonly smallestGap: number
  /** What the API took from its first call to its last, as a part of the configured rate. */
  readonly utilisation: number
  readonly longestWaitMs: number
}

export function tally(log: AccountLog): Tally {
  const { interval } = log.account.limit
  const done = log.calls.filter(({ isRefused }) => !isRefused)
  const gaps = log.calls.slice(1).map(({ at }, index) => at - log.calls[index]!.at)
  const span = done.length < 2 ? Number.NaN : done.at(-1)!.at - done[0]!.at
  return {
    accepted: log.accepted,
    rejected: log.rejections.length,
    calls: log.calls.length,
    refused: log.refused,
    smallestGap: gaps.length === 0 ? Number.NaN : Math.min(...gaps) / interval,
    utilisation: ((done.length - 1) * interval) / span,
    longestWaitMs: Math.max(0, ...log.departures.map(({ waitedMs }) => waitedMs)),
  }
}

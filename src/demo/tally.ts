import type { AccountLog } from './run-log.ts'

/** The result of one account in one run. */
export interface Tally {
  readonly accepted: number
  readonly rejected: number
  /** Calls that the API received, and how many of them it answered 429. */
  readonly calls: number
  readonly refused: number
  /** The distance of two calls at the API, in intervals of the limit; NaN if there was only one call. */
  readonly smallestGap: number
  /** The rate of calls at the API from first to last, as a share of the configured rate. */
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

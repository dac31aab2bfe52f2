import { monotonicNow } from '../core/clock.ts'
import type { Account } from './account.ts'
import type { ApiCall } from './strict-api.ts'

/** The record of one account in one run. Times are microseconds. */
export class AccountLog {
  readonly account: Account
  /** Arrival times of jobs. */
  readonly arrivals: number[] = []
  /** Rejected arrivals, and their times to retry. */
  readonly rejections: { readonly at: number; readonly retryAfterMs: number }[] = []
  /** When handlers started, and how long their jobs had waited. */
  readonly departures: { readonly at: number; readonly waitedMs: number }[] = []
  /** Calls that the API received. */
  readonly calls: ApiCall[] = []
  /** Jobs that were rejected, retried at the given time, and were accepted. */
  cameBack = 0

  constructor(account: Account) {
    this.account = account
  }

  /** Arrival times of accepted jobs. */
  get admissions(): number[] {
    const rejected = new Set(this.rejections.map(({ at }) => at))
    return this.arrivals.filter((at) => !rejected.has(at))
  }

  get accepted(): number {
    return this.arrivals.length - this.rejections.length
  }

  /** The report of a departure may arrive before that of the admission, if they come from two processes. */
  get waiting(): number {
    return Math.max(0, this.accepted - this.departures.length)
  }

  get refused(): number {
    return this.calls.filter(({ isRefused }) => isRefused).length
  }
}

/** The record of one run, with or without velvet-rope. */
export class RunLog {
  readonly isShaped: boolean
  readonly startedAt: number
  readonly accounts: readonly AccountLog[]
  /** Errors, in full sentences. */
  readonly errors: string[] = []
  endedAt: number | undefined

  constructor(isShaped: boolean, accounts: readonly Account[], startedAt = monotonicNow()) {
    this.isShaped = isShaped
    this.startedAt = startedAt
    this.accounts = accounts.map((account) => new AccountLog(account))
  }

  of(key: string): AccountLog {
    return this.accounts.find(({ account }) => account.key === key)!
  }

  get refused(): number {
    return this.accounts.reduce((sum, { refused }) => sum + refused, 0)
  }

  /** The first call counts. */
  end(at = monotonicNow()): void {
    this.endedAt ??= at
  }
}

import { monotonicNow } from '../core/clock.ts'
import type { Account } from './account.ts'
import type { ApiCall } from './strict-api.ts'

/** What happened to one account in one run. Times are microseconds. */
export class AccountLog {
  readonly account: Account
  /** When jobs came. */
  readonly arrivals: number[] = []
  /** Those of them that were turned away, and what they were told. */
  readonly rejections: { readonly at: number; readonly retryAfterMs: number }[] = []
  /** When handlers started, and how long their jobs had waited. */
  readonly departures: { readonly at: number; readonly waitedMs: number }[] = []
  /** What the API saw. */
  readonly calls: ApiCall[] = []
  /** Jobs that had been turned away, came back when they were told to, and were accepted. */
  cameBack = 0

  constructor(account: Account) {
    this.account = account
  }

  /** When the jobs came that were not turned away. */
  get admissions(): number[] {
    const turnedAway = new Set(this.rejections.map(({ at }) => at))
    return this.arrivals.filter((at) => !turnedAway.has(at))
  }

  get accepted(): number {
    return this.arrivals.length - this.rejections.length
  }

  /** News of a departure may overtake that of the admission, where they come from two processes. */
  get waiting(): number {
    return Math.max(0, this.accepted - this.departures.length)
  }

  get refused(): number {
    return this.calls.filter(({ isRefused }) => isRefused).length
  }
}

/** What happened in one run: the bursts once, straight or behind the rope. */
export class RunLog {
  readonly hasRope: boolean
  readonly startedAt: number
  readonly accounts: readonly AccountLog[]
  /** What went wrong, in whole sentences. */
  readonly errors: string[] = []
  endedAt: number | undefined

  constructor(hasRope: boolean, accounts: readonly Account[], startedAt = monotonicNow()) {
    this.hasRope = hasRope
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

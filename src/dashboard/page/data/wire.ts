import type { BucketView, Durability } from '../../../core/job.ts'
import type { LineView, Recent } from '../../../core/line-view.ts'
import type { RuleView as BookRule, LocalRuleView, UnsetRuleView } from '../../../core/rule-view.ts'

export type { Hold, JobExplanation } from '../../../core/explanation-view.ts'
export type {
  LineGuest as Guest,
  LineView,
  Recent,
  RecentDeparture,
  RecentVerdict,
} from '../../../core/line-view.ts'
export type { RulePreview } from '../../../core/rule-view.ts'
export type { BucketPage } from '../../../line/bucket-query.ts'

/** What the HTTP API says, as far as the page reads it. Times are milliseconds since the epoch. */

export type Scope = 'enqueue' | 'read' | 'admin'

export interface Session {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Empty: every key. */
  readonly prefixes: readonly string[]
  readonly backend: 'memory' | 'redis'
  readonly shaper: string
  readonly version: string
  readonly durability?: Durability
}

/** Growing totals of a line. */
export interface FlowTotals {
  readonly at: number
  readonly admitted: number
  readonly departed: number
  readonly rejected: number
}

/** The event `flow`; the first one of a stream has the totals of the last minutes, the oldest first. */
export interface FlowNews extends FlowTotals {
  readonly earlier?: readonly FlowTotals[]
}

export interface Snapshot {
  readonly at: number
  readonly buckets: number
  readonly states: Readonly<Record<BucketView['state'], number>>
  readonly waiting: number
  readonly retrying: number
  readonly running: number
}

/** The event `bucket`: null when the bucket is empty and its time has passed. */
export interface BucketNews {
  readonly at: number
  readonly bucket: BucketView | null
  readonly line: LineView | null
  readonly recent: Recent
}

/** A rule of the book, or one of the process that answers alone. */
export type RuleView = BookRule | LocalRuleView
export type RuleOrigin = RuleView['origin']

export interface RuleBookView {
  readonly version: number
  readonly limits: readonly BookRule[]
  /** What was unset by hand: the layers below have no say in it. */
  readonly unset: readonly UnsetRuleView[]
  /** Of the process that answers alone; they hide those above. */
  readonly local: readonly LocalRuleView[]
}

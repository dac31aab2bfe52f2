import type { BucketView, Durability, JobState } from '../../../core/job.ts'
import type { LineView, Recent } from '../../../core/line-view.ts'

export type {
  LineGuest as Guest,
  LineView,
  Recent,
  RecentDeparture,
  RecentVerdict,
} from '../../../core/line-view.ts'

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

/** Growing totals; `rejected` is what this process alone has seen. */
export interface FlowTotals {
  readonly at: number
  readonly admitted: number
  readonly departed: number
  readonly rejected: number
}

export interface Snapshot {
  readonly at: number
  readonly buckets: number
  readonly states: Readonly<Record<BucketView['state'], number>>
  readonly waiting: number
  readonly retrying: number
  readonly running: number
}

export interface BucketPage {
  readonly buckets: readonly BucketView[]
  readonly total: number
  /** The total is at least so much: there were more than were counted. */
  readonly isAtLeast?: true
  readonly cursor?: string
}

/** The event `bucket`: null when the bucket is empty and its time has passed. */
export interface BucketNews {
  readonly at: number
  readonly bucket: BucketView | null
  readonly line: LineView | null
  readonly recent: Recent
}

export type RuleOrigin = 'code' | 'file' | 'environment' | 'override' | 'local'

export interface RuleView {
  readonly pattern: string
  readonly limit: string
  readonly origin: RuleOrigin
  readonly by?: string
  readonly at?: number
}

export interface RuleBookView {
  readonly version: number
  readonly limits: readonly RuleView[]
  /** What was unset by hand: the layers below have no say in it. */
  readonly unset: readonly Pick<RuleView, 'pattern' | 'by' | 'at'>[]
  /** Of the process that answers alone; they hide those above. */
  readonly local?: readonly RuleView[]
}

export interface PreviewSide {
  readonly pattern: string
  readonly limit: string
  readonly fill: number
  readonly drainMs: number
}

export interface RulePreview {
  readonly version: number
  /** Live ones. */
  readonly buckets: number
  readonly affected: number
  /** Cost units in those affected. */
  readonly waiting: number
  /** Those affected that would hold more than their new capacity. */
  readonly overfull: number
  /** The longest of the affected. */
  readonly drainMs: { readonly before: number; readonly after: number }
  /** Those that no rule would govern. */
  readonly ungoverned: number
  readonly samples: readonly {
    readonly key: string
    readonly waiting: number
    readonly before: PreviewSide
    readonly after: PreviewSide | null
  }[]
}

export interface Hold {
  readonly reason: string
  readonly until?: number
  readonly detail: string
}

export interface JobExplanation {
  readonly id: string
  readonly key: string
  readonly state: JobState
  readonly position?: number
  readonly departsAt?: number
  /** The one that lasts longest first; empty: nothing holds it. */
  readonly holds: readonly Hold[]
  readonly ahead: { readonly jobs: number; readonly cost: number; readonly ids: readonly string[] }
  readonly rule?: RuleView
  readonly summary: string
}

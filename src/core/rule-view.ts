/** The layers below overrides, the lowest first: later layers override earlier ones. */
export const BASE_ORIGINS = ['code', 'file', 'environment'] as const
/** Where a layer comes from: the program, a configuration file, or environment variables. */
export type BaseOrigin = (typeof BASE_ORIGINS)[number]
/** Where a rule comes from: a layer, or an override set at run time. */
export type RuleOrigin = BaseOrigin | 'override'

/** A rule of the book, with its limit as text. */
export interface RuleView {
  readonly pattern: string
  readonly limit: string
  /** `code`, `file`, `environment`: a process started with it, or loaded it; `override`: it was set at run time. */
  readonly origin: RuleOrigin
  /** Who set this limit; absent if not given. Setting the same limit again does not change it. */
  readonly by?: string
  /** When it was set, in milliseconds since the epoch; absent if unknown. */
  readonly at?: number
}

/** A total: the limit of the sum of all keys of a family. */
export interface TotalView extends RuleView {
  /** How the keys of the family begin, such as `stripe/eu/`: the pattern, with the segments of a key where it has `*`. */
  readonly path: string
}

/** An override: a limit set at run time, or a pattern unset, and then without a limit. `by` and `at` as in a rule. */
export interface OverrideView extends Omit<RuleView, 'limit' | 'origin'> {
  readonly limit?: string
}

/** A pattern that was unset at run time: the layers below do not apply to it. `by` and `at` as in a rule. */
export type UnsetRuleView = Omit<OverrideView, 'limit'>

/** A local limit: of what this process alone admits, with its limit as text. */
export interface LocalRuleView {
  readonly pattern: string
  readonly limit: string
  readonly origin: 'local'
  /** Who set it, if given. */
  readonly by?: string
  /** When it was set, in milliseconds since the epoch. */
  readonly at: number
}

/** A rule of the shared rule book, or one that holds in this process alone. */
export type ListedRule = RuleView | LocalRuleView

/** The rule book as one process sees it. */
export interface RuleBookView {
  /** Grows with every change of the rule book. */
  readonly version: number
  readonly limits: readonly RuleView[]
  /** Patterns that were unset at run time, until they are reset. */
  readonly unset: readonly UnsetRuleView[]
  /** Limits of this process alone, which apply in addition. */
  readonly local: readonly LocalRuleView[]
}

/** The state of a bucket under a limit. */
export interface PreviewedStanding {
  readonly pattern: string
  readonly limit: string
  /** Share of the capacity that is taken. May exceed 1. */
  readonly fill: number
  /**
   * How long the waiting jobs take to depart at least: their cost units times the interval, or the windows of a quota that take longer,
   * after the time at which it has room. A warm-up, a freeze, a pause or a lack of handlers would make it longer; none is considered.
   */
  readonly drainMs: number
  /** The limit has quotas or places: what jobs name, when each start counts no more, and how long handlers take is not considered. */
  readonly isEstimate?: true
}

/** The effect of a change on one bucket. */
export interface PreviewSample {
  readonly key: string
  /** Cost units that wait, including those of retries. */
  readonly waiting: number
  readonly before: PreviewedStanding
  /** Null: no rule would apply to it any more. Its waiting jobs keep their limit, new ones are rejected. */
  readonly after: PreviewedStanding | null
}

/**
 * The effect of a change of the rule book on the buckets that live now. Buckets come and go during the count; if there
 * are more than 50,000, a few on Redis may be counted twice.
 */
export interface RulePreview {
  /** The version of the rule book that the change was compared with. */
  readonly version: number
  /** Live buckets. */
  readonly buckets: number
  /** Buckets to which another rule would apply, or the same rule with another limit; all that follows is about them. */
  readonly affected: number
  /** Cost units that wait in them, including those of retries. */
  readonly waiting: number
  /** Buckets that would hold more than their capacity. No job is dropped: new ones are rejected until there is room. */
  readonly overfull: number
  /** The longest drain of any of them. A bucket without a rule keeps its limit, and so its drain. */
  readonly drainMs: { readonly before: number; readonly after: number; readonly isEstimate?: true }
  /** Buckets to which no rule would apply any more. */
  readonly ungoverned: number
  /**
   * Of the first 200 jobs of each sample, how many alone exceed the capacity or a quota of the limit that would apply, and how many were
   * looked at. They would depart when the quota is empty, and take all of it; a new job like them would be refused. Absent: none of them.
   */
  readonly tooCostly?: { readonly jobs: number; readonly looked: number }
  /** At most 20 of them, the most affected first: those without a rule, then by change of drain time, then by fill. */
  readonly samples: readonly PreviewSample[]
  /** Only where the change is of a total: of the families to which it applies. No bucket has another limit of its own then. */
  readonly totals?: TotalsPreview
}

/** The effect of a change on one family. */
export interface PreviewedTotal {
  /** How its keys begin, such as `stripe/`. */
  readonly path: string
  /** Live buckets below it. */
  readonly buckets: number
  /** Cost units that wait below it, including those of retries. */
  readonly waiting: number
  /** Null: no total applies to it now. `fill` and `drainMs` are those of the sum. */
  readonly before: PreviewedStanding | null
  /** Null: no total would apply to it any more. Its jobs wait for their other limits alone. */
  readonly after: PreviewedStanding | null
}

/** The effect of a change of the rule book on the families that live now: the sums of live buckets. */
export interface TotalsPreview {
  /** Live families whose total would change, appear or disappear. */
  readonly families: number
  /** Live buckets below them; one that is below two of them counts once. */
  readonly buckets: number
  /** Cost units that wait in those buckets, including those of retries. */
  readonly waiting: number
  /** Families in which more waits than the total would allow. No job is dropped: new ones are rejected until there is room. */
  readonly overfull: number
  /**
   * The longest drain of any of them, by their totals alone; null where none has a total. What its quotas count already is not
   * considered.
   */
  readonly drainMs: {
    readonly before: number | null
    readonly after: number | null
    readonly isEstimate?: true
  }
  /** There are more than 50,000 such families; what is below the others is not counted. */
  readonly isPartial?: true
  /** At most 20 of them, the most affected first: by change of drain time, then by what waits. */
  readonly samples: readonly PreviewedTotal[]
}

/** Who says what governs as long as nobody sets it by hand; whoever comes later here has the last word. */
export const BASE_ORIGINS = ['code', 'file', 'environment'] as const
/** The program, a configuration file that it read, or the environment that it was started in. */
export type BaseOrigin = (typeof BASE_ORIGINS)[number]
/** Who says what a rule is: one of those, or somebody who set it by hand. */
export type RuleOrigin = BaseOrigin | 'override'

/** A rule of the book, with its limit as text. */
export interface RuleView {
  readonly pattern: string
  readonly limit: string
  /** `code`, `file`, `environment`: a process was started with it, or loaded it; `override`: it was set by hand. */
  readonly origin: RuleOrigin
  /** Who brought this limit, or set it; absent where it was not told. Whoever says the same again is not named. */
  readonly by?: string
  /** When he did, in milliseconds since the epoch; absent where nobody noted it. */
  readonly at?: number
}

/** What was set by hand, or unset: then without a limit. `by` and `at` are those of a rule. */
export interface OverrideView extends Omit<RuleView, 'limit' | 'origin'> {
  readonly limit?: string
}

/** A pattern that was unset by hand: what the layers below say of it is out of force. `by` and `at` are those of a rule. */
export type UnsetRuleView = Omit<OverrideView, 'limit'>

/** A local rope: a limit of what this process alone admits, with its limit as text. */
export interface LocalRuleView {
  readonly pattern: string
  readonly limit: string
  readonly origin: 'local'
  /** Who set it, if that was told. */
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
  /** Patterns that were unset by hand, until they are reset. */
  readonly unset: readonly UnsetRuleView[]
  /** Limits of this process alone, which apply in addition. */
  readonly local: readonly LocalRuleView[]
}

/** How a bucket stands under a limit. */
export interface PreviewedStanding {
  readonly pattern: string
  readonly limit: string
  /** Share of the capacity that newcomers find taken. May exceed 1. */
  readonly fill: number
  /**
   * How long those who wait take to depart: their cost units times the interval. A warm-up makes it longer, and so do a
   * freeze, a pause and a lack of handlers, none of which is looked at.
   */
  readonly drainMs: number
}

/** What a change would do to one bucket. */
export interface PreviewSample {
  readonly key: string
  /** Cost units that wait, those to be tried again included. */
  readonly waiting: number
  readonly before: PreviewedStanding
  /** Null: no rule would govern it any more. Those who wait keep the limit that they have, newcomers are refused. */
  readonly after: PreviewedStanding | null
}

/**
 * What a change of the rule book would do to the buckets that live now. They come and go while they are counted; of more
 * than 50,000 one that a shared line names twice may be counted twice.
 */
export interface RulePreview {
  /** Of the rule book that the change was held against. */
  readonly version: number
  /** Live buckets. */
  readonly buckets: number
  /** Those that another rule would govern, or whose rule would have another limit; all that follows is about them. */
  readonly affected: number
  /** Cost units that wait in them, those to be tried again included. */
  readonly waiting: number
  /** Those that would hold more than their capacity. Nobody is dropped: newcomers are refused until there is room. */
  readonly overfull: number
  /** The longest drain of any of them. One that no rule would govern keeps the limit, and so the drain, that it has. */
  readonly drainMs: { readonly before: number; readonly after: number }
  /** Those that no rule would govern any more. */
  readonly ungoverned: number
  /** At most 20 of them, the most affected first: those without a rule, then by change of drain time, then of fill. */
  readonly samples: readonly PreviewSample[]
}

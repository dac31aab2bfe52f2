import type { LimitInput } from './limit.ts'
import { type Rule, RuleBook, type TotalRule } from './rule-book.ts'
import { RuleBookConflictError } from './rule-errors.ts'
import {
  authored,
  changeLayers,
  inForce,
  isInBase,
  isSameLimit,
  type Layer,
  type LayeredRule,
  type RuleChange,
  type RuleLayers,
  ruleInForce,
} from './rule-layers.ts'
import type { BaseOrigin } from './rule-view.ts'

const NO_LAYERS: RuleLayers = { code: [], file: [], environment: [], overrides: [] }

/** The rule book before and after a change, and when it happened. */
export interface ChangedRules {
  readonly at: number
  /** False if there was nothing to change. */
  readonly isChanged: boolean
  readonly before: LayeredBook
  readonly after: LayeredBook
}

/** The difference between two rule books: limits that are new or different, and patterns that are gone. */
export interface RuleDifference {
  readonly set: readonly LayeredRule[]
  readonly unset: readonly string[]
}

/** The layers, and the rules in force that result from them. Immutable; a change returns a new one. */
export class LayeredBook {
  readonly layers: RuleLayers
  /** Grows with every change; 0 if not known yet. */
  readonly version: number
  readonly #book: RuleBook
  readonly #rules: ReadonlyMap<string, LayeredRule>

  /** @param made what follows from the layers, if it is known */
  constructor(layers: RuleLayers, version = 0, made?: MadeRules) {
    const { rules, book } = made ?? makeRules(layers)
    this.layers = layers
    this.version = version
    this.#rules = rules
    this.#book = book
  }

  /** A book of only these layers. */
  static of(
    given: Layer | readonly Layer[],
    { at, version }: { readonly at?: number; readonly version?: number } = {},
  ): LayeredBook {
    const layers = [given]
      .flat()
      .map(({ origin, rules, by }) => [origin, authored(rules, { by, at })] as const)
    return new LayeredBook({ ...NO_LAYERS, ...Object.fromEntries(layers) }, version)
  }

  /**
   * Returns the book after the change; undefined if there is nothing to change.
   *
   * @throws RuleBookConflictError or TooManyRulesError
   */
  changed(change: RuleChange, at: number): LayeredBook | undefined {
    assertVersion(this.version, change)
    const layers = changeLayers(this.layers, change, at)
    return layers && this.following(layers, this.version + 1, change)
  }

  /** The book of these layers, to which the change led from this one: what the change leaves alone is not made again. */
  following(layers: RuleLayers, version: number, change: RuleChange): LayeredBook {
    if (change.kind === 'load') return new LayeredBook(layers, version)
    const pattern = change.kind === 'set' ? change.rule.pattern : change.pattern
    const rule = ruleInForce(layers, pattern)
    const known = this.#rules.get(pattern)
    // The place in the list of one that was unset by hand is known to the layers alone.
    if (rule !== undefined && known === undefined && isInBase(layers, pattern))
      return new LayeredBook(layers, version)
    const rules = new Map(this.#rules)
    if (rule === undefined) rules.delete(pattern)
    else rules.set(pattern, rule)
    const book = rule === undefined ? this.#book.without(pattern) : this.#book.with(rule)
    return new LayeredBook(layers, version, { rules, book })
  }

  /** The rule that applies to the key, if any. */
  find(key: string): LayeredRule | undefined {
    const rule = this.#book.find(key)
    return rule && this.#rules.get(rule.pattern)
  }

  get hasTotals(): boolean {
    return this.#book.hasTotals
  }

  /** The totals to which the key belongs, the outermost first. */
  totalsOf(key: string): readonly TotalRule[] {
    return this.#book.totalsOf(key)
  }

  /** The rule with exactly this pattern. */
  get(pattern: string): LayeredRule | undefined {
    return this.#rules.get(pattern)
  }

  /** All rules: those from code in their order, then those that only a higher layer has, overrides last. */
  list(): LayeredRule[] {
    return [...this.#rules.values()]
  }
}

/**
 * @throws InvalidLimitError or InvalidKeyError; a layer with one bad rule is rejected as a whole
 */
export function parseLayer(
  limits: Readonly<Record<string, LimitInput>>,
  origin: BaseOrigin = 'code',
  by?: string,
): Layer {
  return { origin, rules: new RuleBook(limits).list(), by }
}

/**
 * @throws RuleBookConflictError if the change is meant for another version than the one in force
 */
export function assertVersion(version: number, { ifVersion = version }: RuleChange): void {
  if (ifVersion !== version) throw new RuleBookConflictError(ifVersion, version)
}

/** Returns what differs in the rules in force. */
export function differenceOf({ before, after }: ChangedRules): RuleDifference {
  const isDifferent = (rule: Rule) => {
    const old = before.get(rule.pattern)
    return old === undefined || !isSameLimit(old, rule)
  }
  return {
    set: after.list().filter(isDifferent),
    unset: before.list().flatMap(({ pattern }) => (after.get(pattern) === undefined ? [pattern] : [])),
  }
}

interface MadeRules {
  readonly rules: ReadonlyMap<string, LayeredRule>
  readonly book: RuleBook
}

function makeRules(layers: RuleLayers): MadeRules {
  const rules = inForce(layers)
  const book = new RuleBook()
  for (const rule of rules.values()) book.put(rule)
  return { rules, book }
}

import { RuleBookConflictError } from './errors.ts'
import { formatLimit, type Limit, type LimitInput } from './limit.ts'
import { type Rule, RuleBook } from './rule-book.ts'
import { assertFew, assertQuick, type RuleBound } from './rule-bounds.ts'
import { BASE_ORIGINS, type BaseOrigin, type RuleOrigin } from './rule-view.ts'

/** Who set a limit, and when. */
export interface Authorship {
  /** Absent if not given. */
  readonly by?: string
  /** Microseconds; absent if unknown. */
  readonly at?: number
}

/** One layer: all limits from code, from a file or from the environment. */
export interface Layer {
  readonly origin: BaseOrigin
  readonly rules: readonly Rule[]
  /** Who sets it. */
  readonly by?: string
}

/** A rule of a layer, and who set its limit there. */
export interface AuthoredRule extends Rule, Authorship {}

/** A rule in force and the layer that it comes from. */
export interface LayeredRule extends AuthoredRule {
  readonly origin: RuleOrigin
}

/** A pattern that was set at run time; or unset, and then `limit` is undefined and the layers below do not apply. */
export interface Override extends Authorship {
  readonly pattern: string
  readonly limit: Limit | undefined
}

/** The layers of a rule book, the lowest first. Later layers override earlier ones, pattern by pattern. */
export interface RuleLayers extends Readonly<Record<BaseOrigin, readonly AuthoredRule[]>> {
  readonly overrides: readonly Override[]
}

const NO_LAYERS: RuleLayers = { code: [], file: [], environment: [], overrides: [] }

/** A change of the rule book. With `ifVersion` it applies only if that is the version in force. */
export type RuleChange = { readonly ifVersion?: number } & (
  | ({ readonly kind: 'set'; readonly rule: Rule; readonly by?: string } & Partial<RuleBound>)
  | ({ readonly kind: 'unset'; readonly pattern: string; readonly by?: string } & Partial<RuleBound>)
  /** Drops the override of the pattern. */
  | { readonly kind: 'reset'; readonly pattern: string }
  /** Replaces the whole layer of this origin. */
  | ({ readonly kind: 'load' } & Layer)
)

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

/** Returns the layers after the change; undefined if there is nothing to change. `at` is stored with what is new. */
export function changeLayers(layers: RuleLayers, change: RuleChange, at: number): RuleLayers | undefined {
  switch (change.kind) {
    case 'set':
      return set(layers, { ...change.rule, by: change.by, at }, change.atMost)
    case 'unset':
      return unset(layers, { pattern: change.pattern, limit: undefined, by: change.by, at }, change.atMost)
    case 'reset':
      return withoutOverride(layers, change.pattern)
    case 'load':
      return withLayer(layers, change, at)
  }
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

/** The same for one pattern. */
function ruleInForce(layers: RuleLayers, pattern: string): LayeredRule | undefined {
  const override = layers.overrides.find((other) => other.pattern === pattern)
  if (override !== undefined) return ofOverride(override)
  for (const origin of [...BASE_ORIGINS].reverse()) {
    const rule = layers[origin].find((other) => other.pattern === pattern)
    if (rule !== undefined) return Object.freeze({ ...rule, origin })
  }
  return undefined
}

function ofOverride({ limit, ...override }: Override): LayeredRule | undefined {
  return limit && Object.freeze({ ...override, limit, origin: 'override' })
}

function isInBase(layers: RuleLayers, pattern: string): boolean {
  return BASE_ORIGINS.some((origin) => layers[origin].some((rule) => rule.pattern === pattern))
}

function inForce({ overrides, ...base }: RuleLayers): Map<string, LayeredRule> {
  const rules = new Map<string, LayeredRule>()
  for (const origin of BASE_ORIGINS) {
    for (const rule of base[origin]) rules.set(rule.pattern, Object.freeze({ ...rule, origin }))
  }
  for (const override of overrides) {
    const rule = ofOverride(override)
    if (rule === undefined) rules.delete(override.pattern)
    else rules.set(override.pattern, rule)
  }
  return rules
}

/**
 * Compares without regard to order. A rule with the same limit as before keeps its author and time, so that it does not
 * look new.
 */
function withLayer(layers: RuleLayers, { origin, rules, by }: Layer, at: number): RuleLayers | undefined {
  const known = new Map(layers[origin].map((rule) => [rule.pattern, rule]))
  const kept = authored(rules, { by, at }).map((rule) => {
    const old = known.get(rule.pattern)
    return old !== undefined && isSameLimit(old, rule) ? old : rule
  })
  const isSame = kept.length === known.size && kept.every((rule) => rule === known.get(rule.pattern))
  return isSame ? undefined : { ...layers, [origin]: kept }
}

function authored(rules: readonly Rule[], authorship: Authorship): AuthoredRule[] {
  return rules.map((rule) => ({ ...rule, ...authorship }))
}

function isSameLimit(one: Rule, other: Rule): boolean {
  // Most rules of two books are one and the same.
  return one.limit === other.limit || formatLimit(one.limit) === formatLimit(other.limit)
}

/** Setting the same limit again is no change: author and time stay those of the first. */
function set(layers: RuleLayers, override: AuthoredRule, atMost?: number): RuleLayers | undefined {
  const known = layers.overrides.find(({ pattern }) => pattern === override.pattern)?.limit
  const isKnown = known !== undefined && isSameLimit({ ...override, limit: known }, override)
  return isKnown ? undefined : withOverride(layers, override, atMost)
}

/** Unsetting a pattern that is only an override removes the override, so that a layer may set the pattern later. */
function unset(layers: RuleLayers, override: Override, atMost?: number): RuleLayers | undefined {
  const { pattern } = override
  const known = layers.overrides.find((other) => other.pattern === pattern)
  const hasBase = isInBase(layers, pattern)
  const isInForce = known === undefined ? hasBase : known.limit !== undefined
  if (!isInForce) return undefined
  return hasBase ? withOverride(layers, override, atMost) : withoutOverride(layers, pattern)
}

function withOverride(layers: RuleLayers, override: Override, atMost: number | undefined): RuleLayers {
  const { overrides } = layers
  const isKnown = overrides.some(({ pattern }) => pattern === override.pattern)
  if (!isKnown) {
    if (atMost !== undefined) assertFew(overrides, override, { atMost })
    if (override.limit !== undefined) assertQuick(patternsOf(layers), override.pattern)
  }
  return {
    ...layers,
    overrides: isKnown
      ? overrides.map((other) => (other.pattern === override.pattern ? override : other))
      : [...overrides, override],
  }
}

function* patternsOf(layers: RuleLayers): Generator<string> {
  for (const origin of BASE_ORIGINS) for (const { pattern } of layers[origin]) yield pattern
  for (const { pattern } of layers.overrides) yield pattern
}

function withoutOverride(layers: RuleLayers, pattern: string): RuleLayers | undefined {
  const overrides = layers.overrides.filter((override) => override.pattern !== pattern)
  return overrides.length === layers.overrides.length ? undefined : { ...layers, overrides }
}

import { RuleBookConflictError } from './errors.ts'
import { formatLimit, type Limit, type LimitInput } from './limit.ts'
import { type Rule, RuleBook } from './rule-book.ts'
import { BASE_ORIGINS, type BaseOrigin, type RuleOrigin } from './rule-view.ts'

/** Who brought a limit, and when. */
export interface Authorship {
  /** Absent where it was not told. */
  readonly by?: string
  /** Microseconds; absent where nobody noted it. */
  readonly at?: number
}

/** All that code, a file or the environment says. */
export interface Layer {
  readonly origin: BaseOrigin
  readonly rules: readonly Rule[]
  /** Who brings it. */
  readonly by?: string
}

/** A rule of a layer, and who brought its limit there. */
export interface AuthoredRule extends Rule, Authorship {}

/** A rule in force and where it comes from. */
export interface LayeredRule extends AuthoredRule {
  readonly origin: RuleOrigin
}

/** A pattern that was set by hand; or unset, and then `limit` is undefined: the layers below have no say in it. */
export interface Override extends Authorship {
  readonly pattern: string
  readonly limit: Limit | undefined
}

/** The layers of a rule book, the lowest first: each is whole, and for its patterns it hides those below. */
export interface RuleLayers extends Readonly<Record<BaseOrigin, readonly AuthoredRule[]>> {
  readonly overrides: readonly Override[]
}

const NO_LAYERS: RuleLayers = { code: [], file: [], environment: [], overrides: [] }

/** What may be asked of a rule book; with `ifVersion`, only if that is the version in force. */
export type RuleChange = { readonly ifVersion?: number } & (
  | { readonly kind: 'set'; readonly rule: Rule; readonly by?: string }
  | { readonly kind: 'unset'; readonly pattern: string; readonly by?: string }
  /** Drops what was set or unset by hand. */
  | { readonly kind: 'reset'; readonly pattern: string }
  /** Replaces the whole layer of this origin. */
  | ({ readonly kind: 'load' } & Layer)
)

/** What a change did, and when. */
export interface ChangedRules {
  readonly at: number
  /** False: there was nothing to change. */
  readonly isChanged: boolean
  readonly before: LayeredBook
  readonly after: LayeredBook
}

/** What is other than before: limits that are new or not the same, and patterns that are gone. */
export interface RuleDifference {
  readonly set: readonly LayeredRule[]
  readonly unset: readonly string[]
}

/** The layers, and the rules in force that come of them. It never changes; a change makes another. */
export class LayeredBook {
  readonly layers: RuleLayers
  /** Grows with every change; 0: it is not known yet. */
  readonly version: number
  readonly #book = new RuleBook()
  readonly #rules: ReadonlyMap<string, LayeredRule>

  constructor(layers: RuleLayers, version = 0) {
    this.layers = layers
    this.version = version
    this.#rules = inForce(layers)
    for (const rule of this.#rules.values()) this.#book.put(rule)
  }

  /** A book of these layers alone. */
  static of(
    brought: Layer | readonly Layer[],
    { at, version }: { readonly at?: number; readonly version?: number } = {},
  ): LayeredBook {
    const layers = [brought]
      .flat()
      .map(({ origin, rules, by }) => [origin, authored(rules, { by, at })] as const)
    return new LayeredBook({ ...NO_LAYERS, ...Object.fromEntries(layers) }, version)
  }

  /** The book after the change; undefined when there is nothing to change. @throws RuleBookConflictError */
  changed(change: RuleChange, at: number): LayeredBook | undefined {
    assertVersion(this.version, change)
    const layers = changeLayers(this.layers, change, at)
    return layers && new LayeredBook(layers, this.version + 1)
  }

  /** The rule that governs the key, if any. */
  find(key: string): LayeredRule | undefined {
    const rule = this.#book.find(key)
    return rule && this.#rules.get(rule.pattern)
  }

  /** The rule of the pattern itself. */
  get(pattern: string): LayeredRule | undefined {
    return this.#rules.get(pattern)
  }

  /** Every rule: those of code in their order, then what only a higher layer has, what was only set by hand last. */
  list(): LayeredRule[] {
    return [...this.#rules.values()]
  }
}

/** @throws InvalidLimitError or InvalidKeyError; of a layer with one bad rule nothing is used */
export function parseLayer(
  limits: Readonly<Record<string, LimitInput>>,
  origin: BaseOrigin = 'code',
  by?: string,
): Layer {
  return { origin, rules: new RuleBook(limits).list(), by }
}

/** @throws RuleBookConflictError when the change is meant for another version than the one in force */
export function assertVersion(version: number, { ifVersion = version }: RuleChange): void {
  if (ifVersion !== version) throw new RuleBookConflictError(ifVersion, version)
}

/** The layers after the change; undefined when there is nothing to change. `at` is written beside what is new. */
export function changeLayers(layers: RuleLayers, change: RuleChange, at: number): RuleLayers | undefined {
  switch (change.kind) {
    case 'set':
      return set(layers, { ...change.rule, by: change.by, at })
    case 'unset':
      return unset(layers, { pattern: change.pattern, limit: undefined, by: change.by, at })
    case 'reset':
      return withoutOverride(layers, change.pattern)
    case 'load':
      return withLayer(layers, change, at)
  }
}

/** What is other in force. */
export function differenceOf({ before, after }: ChangedRules): RuleDifference {
  const isOther = (rule: Rule) => {
    const old = before.get(rule.pattern)
    return old === undefined || !isSameLimit(old, rule)
  }
  return {
    set: after.list().filter(isOther),
    unset: before.list().flatMap(({ pattern }) => (after.get(pattern) === undefined ? [pattern] : [])),
  }
}

function inForce({ overrides, ...base }: RuleLayers): Map<string, LayeredRule> {
  const rules = new Map<string, LayeredRule>()
  for (const origin of BASE_ORIGINS) {
    for (const rule of base[origin]) rules.set(rule.pattern, Object.freeze({ ...rule, origin }))
  }
  for (const { limit, ...override } of overrides) {
    if (limit === undefined) rules.delete(override.pattern)
    else rules.set(override.pattern, Object.freeze({ ...override, limit, origin: 'override' }))
  }
  return rules
}

/** In whatever order. A rule that says the same again stays what it was, so that nobody takes its limit for a new one. */
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
  return formatLimit(one.limit) === formatLimit(other.limit)
}

/** The same limit by hand again is no change: it was set by whoever set it first. */
function set(layers: RuleLayers, override: AuthoredRule): RuleLayers | undefined {
  const known = layers.overrides.find(({ pattern }) => pattern === override.pattern)?.limit
  const isKnown = known !== undefined && isSameLimit({ ...override, limit: known }, override)
  return isKnown ? undefined : withOverride(layers, override)
}

/** What only a hand has set leaves nothing behind: a layer that brings the pattern later has its say. */
function unset(layers: RuleLayers, override: Override): RuleLayers | undefined {
  const { pattern } = override
  const known = layers.overrides.find((other) => other.pattern === pattern)
  const isInBase = BASE_ORIGINS.some((origin) => layers[origin].some((rule) => rule.pattern === pattern))
  const isInForce = known === undefined ? isInBase : known.limit !== undefined
  if (!isInForce) return undefined
  return isInBase ? withOverride(layers, override) : withoutOverride(layers, pattern)
}

function withOverride(layers: RuleLayers, override: Override): RuleLayers {
  const { overrides } = layers
  const isKnown = overrides.some(({ pattern }) => pattern === override.pattern)
  return {
    ...layers,
    overrides: isKnown
      ? overrides.map((other) => (other.pattern === override.pattern ? override : other))
      : [...overrides, override],
  }
}

function withoutOverride(layers: RuleLayers, pattern: string): RuleLayers | undefined {
  const overrides = layers.overrides.filter((override) => override.pattern !== pattern)
  return overrides.length === layers.overrides.length ? undefined : { ...layers, overrides }
}

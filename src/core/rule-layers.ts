import { isTotal } from './key.ts'
import type { Limit } from './limit.ts'
import { formatLimit } from './limit-format.ts'
import type { Rule } from './rule-book.ts'
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

/** A change of the rule book. With `ifVersion` it applies only if that is the version in force. */
export type RuleChange = { readonly ifVersion?: number } & (
  | ({ readonly kind: 'set'; readonly rule: Rule; readonly by?: string } & Partial<RuleBound>)
  | ({ readonly kind: 'unset'; readonly pattern: string; readonly by?: string } & Partial<RuleBound>)
  /** Drops the override of the pattern. */
  | { readonly kind: 'reset'; readonly pattern: string }
  /** Replaces the whole layer of this origin. */
  | ({ readonly kind: 'load' } & Layer)
)

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

/** The rule of one pattern that results from the layers. */
export function ruleInForce(layers: RuleLayers, pattern: string): LayeredRule | undefined {
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

/** Whether code, a file or the environment sets the pattern. */
export function isInBase(layers: RuleLayers, pattern: string): boolean {
  return BASE_ORIGINS.some((origin) => layers[origin].some((rule) => rule.pattern === pattern))
}

/** The rules that result from the layers: by pattern, those from code in their order, overrides last. */
export function inForce({ overrides, ...base }: RuleLayers): Map<string, LayeredRule> {
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

export function authored(rules: readonly Rule[], authorship: Authorship): AuthoredRule[] {
  return rules.map((rule) => ({ ...rule, ...authorship }))
}

export function isSameLimit(one: Rule, other: Rule): boolean {
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

/** What all keys begin with that the change can concern. */
export function beginningOf(change: RuleChange): string {
  if (change.kind === 'load') return ''
  const pattern = change.kind === 'set' ? change.rule.pattern : change.pattern
  const star = pattern.indexOf('*')
  if (star !== -1) return pattern.slice(0, star)
  // A total is about the key without its slash, too.
  return isTotal(pattern) ? pattern.slice(0, -1) : pattern
}

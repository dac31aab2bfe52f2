import { formatLimit, type Limit, type LimitInput } from './limit.ts'
import { type Rule, RuleBook } from './rule-book.ts'

/** Who says what governs as long as nobody sets it by hand; whoever comes later here has the last word. */
const BASE_ORIGINS = ['code', 'file'] as const
/** The program, or a configuration file that it read. */
export type BaseOrigin = (typeof BASE_ORIGINS)[number]
/** Who says what a rule is: code, a file, or somebody who set it by hand. */
export type RuleOrigin = BaseOrigin | 'override'

/** All that code, or a file, says. */
export interface Layer {
  readonly origin: BaseOrigin
  readonly rules: readonly Rule[]
}

/** A rule in force and where it comes from. */
export interface LayeredRule extends Rule {
  readonly origin: RuleOrigin
  /** Of an override: who set it, if that was told. */
  readonly by?: string
  /** Of an override: when it was set, in microseconds; absent where nobody noted it. */
  readonly at?: number
}

/** A pattern that was set by hand; or unset, and then `limit` is undefined: code and file have no say in it. */
export interface Override {
  readonly pattern: string
  readonly limit: Limit | undefined
  readonly by?: string
  readonly at?: number
}

/** The layers of a rule book, the lowest first: each is whole, and for its patterns it hides those below. */
export interface RuleLayers extends Readonly<Record<BaseOrigin, readonly Rule[]>> {
  readonly overrides: readonly Override[]
}

/** What may be asked of a rule book. */
export type RuleChange =
  | { readonly kind: 'set'; readonly rule: Rule; readonly by?: string }
  | { readonly kind: 'unset'; readonly pattern: string; readonly by?: string }
  /** Drops what was set or unset by hand. */
  | { readonly kind: 'reset'; readonly pattern: string }
  /** Replaces the whole layer of this origin. */
  | ({ readonly kind: 'load' } & Layer)

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
  readonly #book = new RuleBook()
  readonly #rules: ReadonlyMap<string, LayeredRule>

  constructor(layers: RuleLayers) {
    this.layers = layers
    this.#rules = inForce(layers)
    for (const rule of this.#rules.values()) this.#book.put(rule)
  }

  /** A book of one layer. */
  static of({ origin, rules }: Layer): LayeredBook {
    return new LayeredBook({ code: [], file: [], overrides: [], [origin]: rules })
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

  /** Every rule: those of code in their order, then what only the file has, then what was only set by hand. */
  list(): LayeredRule[] {
    return [...this.#rules.values()]
  }
}

/** @throws InvalidLimitError or InvalidKeyError; of a layer with one bad rule nothing is used */
export function parseLayer(limits: Readonly<Record<string, LimitInput>>, origin: BaseOrigin = 'code'): Layer {
  return { origin, rules: new RuleBook(limits).list() }
}

/** The layers after the change; undefined when there is nothing to change. `at` is written beside an override. */
export function changeLayers(layers: RuleLayers, change: RuleChange, at: number): RuleLayers | undefined {
  switch (change.kind) {
    case 'set':
      return withOverride(layers, { ...change.rule, by: change.by, at })
    case 'unset':
      return unset(layers, { pattern: change.pattern, limit: undefined, by: change.by, at })
    case 'reset':
      return withoutOverride(layers, change.pattern)
    case 'load':
      return withLayer(layers, change)
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
function withLayer(layers: RuleLayers, { origin, rules }: Layer): RuleLayers | undefined {
  const known = new Map(layers[origin].map((rule) => [rule.pattern, rule]))
  const kept = rules.map((rule) => {
    const old = known.get(rule.pattern)
    return old !== undefined && isSameLimit(old, rule) ? old : rule
  })
  const isSame = kept.length === known.size && kept.every((rule) => rule === known.get(rule.pattern))
  return isSame ? undefined : { ...layers, [origin]: kept }
}

function isSameLimit(one: Rule, other: Rule): boolean {
  return formatLimit(one.limit) === formatLimit(other.limit)
}

/** What only a hand has set leaves nothing behind: code or a file that brings the pattern later has its say. */
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

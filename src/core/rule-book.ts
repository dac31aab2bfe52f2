import { describe, quote } from './describe.ts'
import { InvalidKeyError, InvalidLimitError, NoLimitError } from './errors.ts'
import { checkKey, isTotal } from './key.ts'
import { type Limit, type LimitInput, parseLimit } from './limit.ts'

/** A rule: a pattern and the limit of the keys that it applies to, of each; or of the sum of a family, if the pattern ends in `/`. */
export interface Rule {
  readonly pattern: string
  readonly limit: Limit
}

/** The limit of the sum of a family: of the key before the slash and of all below it. */
export interface TotalRule extends Rule {
  /** How the keys of the family begin: the pattern, with the segments of a key where it has `*`. */
  readonly path: string
}

/** `parseLimit`, or another parser of the same input; it may refuse the limit for its pattern. */
type ReadLimit = (input: LimitInput, pattern: string) => Limit

interface Node {
  /** Number of segments that lead to it. */
  readonly depth: number
  rule: Rule | undefined
  total: Rule | undefined
  readonly literals: Map<string, Node>
  wildcard: Node | undefined
}

/**
 * Finds the limit that applies to a key. A pattern applies to the key that equals it and to every key below:
 * `foo/bar/baz` looks up `foo/bar/baz`, `foo/bar`, `foo`, then `*`. A `*` segment matches one segment. The longest
 * matching pattern wins; of two equally long ones, the one with a literal where the other has its first `*`.
 *
 * A pattern that ends in `/` is the limit of the sum of a family, a total. It says nothing about a key alone. Of the totals that match
 * a key, one of each length counts, chosen alike.
 */
export class RuleBook {
  #root: Node = createNode(0)
  #rules = new Map<string, Rule>()
  readonly #read: ReadLimit
  /** The rule of '*' if it is the only one for keys: it applies to every key, and no look-up is needed. */
  #only: Rule | undefined
  #totals = 0

  /**
   * @throws InvalidLimitError or InvalidKeyError; a book with one bad rule is rejected as a whole
   */
  constructor(limits: Readonly<Record<string, LimitInput>> = {}, read: ReadLimit = parseLimit) {
    this.#read = read
    if (!isPlainObject(limits)) {
      throw new InvalidLimitError(`expected limits such as { '*': '100, 10/s' }, got: ${describe(limits)}`)
    }
    for (const [pattern, limit] of Object.entries(limits)) this.set(pattern, limit)
  }

  /**
   * @throws NoLimitError if no pattern matches: a key without a limit is never unlimited
   */
  resolve(key: string): Rule {
    const rule = this.find(key)
    if (rule === undefined) throw new NoLimitError(key)
    return rule
  }

  /** The rule that applies to `key`, if any. */
  find(key: string): Rule | undefined {
    return this.#only ?? deepest(this.#root, key, 0)?.rule
  }

  get hasTotals(): boolean {
    return this.#totals > 0
  }

  /** The totals to which the key belongs, the outermost first. */
  totalsOf(key: string): readonly TotalRule[] {
    if (!this.hasTotals) return NO_TOTALS
    const found: TotalRule[] = []
    collectTotals(this.#root, key, 0, found)
    return found.filter((total) => total !== undefined)
  }

  /** All rules, in the order in which their patterns were first set. */
  list(): Rule[] {
    return [...this.#rules.values()]
  }

  /** Adds a rule or replaces the one with the same pattern. */
  set(pattern: string, input: LimitInput): Rule {
    const rule = parseRule(pattern, input, this.#read)
    this.put(rule)
    return rule
  }

  /** The same with a parsed rule. */
  put(rule: Rule): void {
    let node = this.#root
    for (const segment of wayOf(rule.pattern)) node = descend(node, segment)
    node[placeOf(rule.pattern)] = rule
    this.#rules.set(rule.pattern, rule)
    this.#note()
  }

  /** A book with this rule as well, or in place of the one with its pattern; it shares all other branches with this one. */
  with(rule: Rule): RuleBook {
    return this.#changed(rule.pattern, rule)
  }

  /** A book without the rule of this pattern. */
  without(pattern: string): RuleBook {
    return this.#changed(pattern, undefined)
  }

  #changed(pattern: string, rule: Rule | undefined): RuleBook {
    const book = new RuleBook({}, this.#read)
    book.#root = replanted(this.#root, pattern, rule) ?? book.#root
    book.#rules = new Map(this.#rules)
    if (rule === undefined) book.#rules.delete(pattern)
    else book.#rules.set(pattern, rule)
    book.#note()
    return book
  }

  #note(): void {
    this.#totals = 0
    for (const pattern of this.#rules.keys()) if (isTotal(pattern)) this.#totals += 1
    this.#only = this.#rules.size === this.#totals + 1 ? this.#rules.get('*') : undefined
  }
}

/** @throws InvalidKeyError or InvalidLimitError */
export function parseRule(pattern: string, input: LimitInput, read: ReadLimit = parseLimit): Rule {
  checkPattern(pattern)
  return Object.freeze({ pattern, limit: parseLimitOf(pattern, input, read) })
}

const NO_TOTALS: readonly TotalRule[] = []

function placeOf(pattern: string): 'rule' | 'total' {
  return isTotal(pattern) ? 'total' : 'rule'
}

function wayOf(pattern: string): string[] {
  return (isTotal(pattern) ? pattern.slice(0, -1) : pattern).split('/')
}

function createNode(depth: number): Node {
  return { depth, rule: undefined, total: undefined, literals: new Map(), wildcard: undefined }
}

/** A copy of the node with another rule at the end of the pattern, or without one; undefined for a node that holds nothing then. */
function replanted(node: Node, pattern: string, rule: Rule | undefined): Node | undefined {
  const copy: Node = { ...node, literals: node.literals }
  const segment = wayOf(pattern)[node.depth]
  if (segment === undefined) copy[placeOf(pattern)] = rule
  else if (segment === '*') {
    copy.wildcard = replanted(node.wildcard ?? createNode(node.depth + 1), pattern, rule)
  } else {
    const child = replanted(node.literals.get(segment) ?? createNode(node.depth + 1), pattern, rule)
    const literals = new Map(node.literals)
    if (child === undefined) literals.delete(segment)
    else literals.set(segment, child)
    return isBare({ ...copy, literals }) ? undefined : { ...copy, literals }
  }
  return isBare(copy) ? undefined : copy
}

function isBare({ rule, total, literals, wildcard }: Node): boolean {
  return rule === undefined && total === undefined && literals.size === 0 && wildcard === undefined
}

/** Notes the total of each depth that matches the key, the literal one before that of a wildcard. */
function collectTotals(node: Node, key: string, from: number, found: TotalRule[]): void {
  const { depth, total, literals, wildcard } = node
  if (total !== undefined) found[depth] ??= { ...total, path: `${key.slice(0, from - 1)}/` }
  if (from > key.length || (literals.size === 0 && wildcard === undefined)) return
  const slash = key.indexOf('/', from)
  const end = slash === -1 ? key.length : slash
  for (const child of [literals.get(key.slice(from, end)), wildcard]) {
    if (child !== undefined) collectTotals(child, key, end + 1, found)
  }
}

/**
 * The deepest node with a rule that matches the segments of the key from offset `from` on. Of two equally deep ones it
 * is the one with the literal where the other has the wildcard.
 */
function deepest(node: Node, key: string, from: number): Node | undefined {
  const own = node.rule === undefined ? undefined : node
  if (from > key.length || (node.literals.size === 0 && node.wildcard === undefined)) return own
  const slash = key.indexOf('/', from)
  const end = slash === -1 ? key.length : slash
  const literal = node.literals.get(key.slice(from, end))
  const byLiteral = literal && deepest(literal, key, end + 1)
  const byWildcard = node.wildcard && deepest(node.wildcard, key, end + 1)
  if (byLiteral === undefined) return byWildcard ?? own
  return byWildcard !== undefined && byWildcard.depth > byLiteral.depth ? byWildcard : byLiteral
}

function descend(node: Node, segment: string): Node {
  if (segment === '*') {
    node.wildcard ??= createNode(node.depth + 1)
    return node.wildcard
  }
  let child = node.literals.get(segment)
  if (child === undefined) {
    child = createNode(node.depth + 1)
    node.literals.set(segment, child)
  }
  return child
}

function checkPattern(pattern: string): void {
  checkKey(pattern, 'pattern')
  if (pattern === '/') {
    throw new InvalidKeyError(
      `expected the pattern of a total to name a family, such as 'stripe/' for stripe and all below it, got: ${quote(pattern)}`,
    )
  }
  const mixed = pattern.split('/').find((segment) => segment !== '*' && segment.includes('*'))
  if (mixed !== undefined) {
    throw new InvalidKeyError(
      `expected * to stand alone in its segment, got: ${quote(mixed)} in ${quote(pattern)}`,
    )
  }
}

function parseLimitOf(pattern: string, input: LimitInput, read: ReadLimit): Limit {
  try {
    return read(input, pattern)
  } catch (error) {
    if (error instanceof InvalidLimitError)
      throw new InvalidLimitError(`limit ${quote(pattern)}: ${error.message}`)
    throw error
  }
}

function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

import { describe, quote } from './describe.ts'
import { InvalidKeyError, InvalidLimitError, NoLimitError } from './errors.ts'
import { checkKey } from './key.ts'
import { type Limit, type LimitInput, parseLimit } from './limit.ts'

/** A rule: a pattern and the limit of the keys that it applies to. */
export interface Rule {
  readonly pattern: string
  readonly limit: Limit
}

/** `parseLimit`, or another parser of the same input. */
type ReadLimit = (input: LimitInput) => Limit

interface Node {
  /** Number of segments that lead to it. */
  readonly depth: number
  rule: Rule | undefined
  readonly literals: Map<string, Node>
  wildcard: Node | undefined
}

/**
 * Finds the limit that applies to a key. A pattern applies to the key that equals it and to every key below:
 * `foo/bar/baz` looks up `foo/bar/baz`, `foo/bar`, `foo`, then `*`. A `*` segment matches one segment. The longest
 * matching pattern wins; of two equally long ones, the one with a literal where the other has its first `*`.
 */
export class RuleBook {
  readonly #root: Node = createNode(0)
  readonly #rules = new Map<string, Rule>()
  readonly #read: ReadLimit
  /** The rule of '*' if it is the only one: it applies to every key, and no look-up is needed. */
  #only: Rule | undefined

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
    for (const segment of rule.pattern.split('/')) node = descend(node, segment)
    node.rule = rule
    this.#rules.set(rule.pattern, rule)
    this.#only = this.#rules.size === 1 && rule.pattern === '*' ? rule : undefined
  }
}

/** @throws InvalidKeyError or InvalidLimitError */
export function parseRule(pattern: string, input: LimitInput, read: ReadLimit = parseLimit): Rule {
  checkPattern(pattern)
  return Object.freeze({ pattern, limit: parseLimitOf(pattern, input, read) })
}

function createNode(depth: number): Node {
  return { depth, rule: undefined, literals: new Map(), wildcard: undefined }
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
  const mixed = pattern.split('/').find((segment) => segment !== '*' && segment.includes('*'))
  if (mixed !== undefined) {
    throw new InvalidKeyError(
      `expected * to stand alone in its segment, got: ${quote(mixed)} in ${quote(pattern)}`,
    )
  }
}

function parseLimitOf(pattern: string, input: LimitInput, read: ReadLimit): Limit {
  try {
    return read(input)
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

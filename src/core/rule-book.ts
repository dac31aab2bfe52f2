import { describe, quote } from './describe.ts'
import { InvalidKeyError, InvalidLimitError, NoLimitError } from './errors.ts'
import { checkKey } from './key.ts'
import { type Limit, type LimitInput, parseLimit } from './limit.ts'

/** One rule: a pattern and the limit that it gives to the keys that it governs. */
export interface Rule {
  readonly pattern: string
  readonly limit: Limit
}

/** `parseLimit`, or another that reads the same. */
type ReadLimit = (input: LimitInput) => Limit

interface Node {
  /** How many segments lead to it. */
  readonly depth: number
  rule: Rule | undefined
  readonly literals: Map<string, Node>
  wildcard: Node | undefined
}

/**
 * Says which limit governs a key. A pattern governs the key that it spells and every key below it: `foo/bar/baz`
 * looks up `foo/bar/baz`, `foo/bar`, `foo`, then `*`. A `*` segment matches one segment. The longest matching
 * pattern governs; of two as long, the one with a literal where the other has its first `*`.
 */
export class RuleBook {
  readonly #root: Node = createNode(0)
  readonly #rules = new Map<string, Rule>()
  readonly #read: ReadLimit
  /** That of '*' where there is no other: it governs every key, and none need be looked up. */
  #only: Rule | undefined

  /** @throws InvalidLimitError or InvalidKeyError; nothing is kept of a book with one bad rule */
  constructor(limits: Readonly<Record<string, LimitInput>> = {}, read: ReadLimit = parseLimit) {
    this.#read = read
    if (!isPlainObject(limits)) {
      throw new InvalidLimitError(`expected limits such as { '*': '100, 10/s' }, got: ${describe(limits)}`)
    }
    for (const [pattern, limit] of Object.entries(limits)) this.set(pattern, limit)
  }

  /** @throws NoLimitError when no pattern matches: a key without a limit is never unlimited */
  resolve(key: string): Rule {
    const rule = this.find(key)
    if (rule === undefined) throw new NoLimitError(key)
    return rule
  }

  /** The rule that governs `key`, if any. */
  find(key: string): Rule | undefined {
    return this.#only ?? deepest(this.#root, key, 0)?.rule
  }

  /** Every rule, in the order in which its pattern was first set. */
  list(): Rule[] {
    return [...this.#rules.values()]
  }

  /** Adds a rule or replaces the one with the same pattern. */
  set(pattern: string, input: LimitInput): Rule {
    const rule = parseRule(pattern, input, this.#read)
    this.put(rule)
    return rule
  }

  /** The same with a rule that was read already. */
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
 * The node with a rule that is reached by the most segments of the key, which are those that begin at `from`. Of two as
 * deep it is the one that takes the literal where the other takes the wildcard.
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

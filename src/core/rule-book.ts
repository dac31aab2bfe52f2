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
  rule: Rule | undefined
  literals: Map<string, Node>
  wildcard: Node | undefined
}

/**
 * Says which limit governs a key. A pattern governs the key that it spells and every key below it: `foo/bar/baz`
 * looks up `foo/bar/baz`, `foo/bar`, `foo`, then `*`. A `*` segment matches one segment. The longest matching
 * pattern governs; of two as long, the one with a literal where the other has its first `*`.
 */
export class RuleBook {
  readonly #root: Node = createNode()
  readonly #rules = new Map<string, Rule>()
  readonly #read: ReadLimit

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
    // A lone '*' has one segment and so governs, by prefix, every key.
    let found: Rule | undefined
    let level: Node[] = [this.#root]
    for (const segment of key.split('/')) {
      const deeper: Node[] = []
      // Literal before wildcard at every node keeps the level in the order of preference.
      for (const node of level) {
        const literal = node.literals.get(segment)
        if (literal !== undefined) deeper.push(literal)
        if (node.wildcard !== undefined) deeper.push(node.wildcard)
      }
      if (deeper.length === 0) break
      found = deeper.find((node) => node.rule !== undefined)?.rule ?? found
      level = deeper
    }
    return found
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
  }
}

/** @throws InvalidKeyError or InvalidLimitError */
export function parseRule(pattern: string, input: LimitInput, read: ReadLimit = parseLimit): Rule {
  checkPattern(pattern)
  return Object.freeze({ pattern, limit: parseLimitOf(pattern, input, read) })
}

function createNode(): Node {
  return { rule: undefined, literals: new Map(), wildcard: undefined }
}

function descend(node: Node, segment: string): Node {
  if (segment === '*') {
    node.wildcard ??= createNode()
    return node.wildcard
  }
  let child = node.literals.get(segment)
  if (child === undefined) {
    child = createNode()
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

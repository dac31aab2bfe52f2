import { quote } from './describe.ts'
import { firstSegment } from './key.ts'
import { TooManyRulesError } from './rule-errors.ts'

/**
 * Bounds the rules that are set by hand, so that no author and no first segment makes the rule book large for the others. Rules of
 * code, file and environment are not bounded: they are of the people who deploy a process.
 */
export interface RuleBound {
  /** The most rules by hand of one author, and of the patterns with one first segment. */
  readonly atMost: number
}

/** What counts of a rule. */
interface BoundedRule {
  readonly pattern: string
  readonly by?: string | undefined
}

/**
 * The most steps that a look-up takes beside one for each segment of the key, for the patterns of one first segment: so the cost of
 * a look-up is bounded, however many rules there are.
 */
export const MOST_WILDCARD_STEPS = 64

/** Bytes of the heap, measured: docs/decisions/service.md. */
const RULE = 880
const STEP = 240

/** What a rule that is set by hand takes of the heap, about: each segment of its pattern takes a step of a look-up. */
export function bytesOfRule(pattern: string): number {
  return RULE + pattern.length + STEP * pattern.split('/').length
}

/**
 * Checks a rule by hand whose pattern is new.
 *
 * @param rules those by hand
 * @throws TooManyRulesError
 */
export function assertFew(
  rules: Iterable<BoundedRule>,
  { pattern, by }: BoundedRule,
  { atMost }: RuleBound,
): void {
  const head = firstSegment(pattern)
  let [ofAuthor, ofHead] = [0, 0]
  for (const rule of rules) {
    if (by !== undefined && rule.by === by) ofAuthor++
    if (firstSegment(rule.pattern) === head) ofHead++
  }
  const said = `expected at most ${atMost} rules set by hand`
  if (ofAuthor >= atMost) throw new TooManyRulesError(`${said} by ${quote(by!)}, got: one more`, atMost)
  if (ofHead >= atMost) {
    throw new TooManyRulesError(
      `${said} for patterns with the first segment ${quote(head)}, got: one more`,
      atMost,
    )
  }
}

/**
 * Checks a pattern that is set by hand and new. Only where a `*` stands beside literals does a look-up have several ways to go;
 * two patterns with their `*` in the same places are one way for each key, and cost no more than one of them.
 *
 * @param patterns all others
 * @throws TooManyRulesError
 */
export function assertQuick(patterns: Iterable<string>, pattern: string): void {
  if (!hasWildcard(pattern)) return
  const head = firstSegment(pattern)
  const shapes = new Set([shapeOf(pattern)])
  for (const other of patterns) {
    if (firstSegment(other) !== head || !hasWildcard(other)) continue
    shapes.add(shapeOf(other))
    if (shapes.size > MOST_WILDCARD_STEPS) break
  }
  const steps = stepsOf(shapes)
  if (steps <= MOST_WILDCARD_STEPS) return
  throw new TooManyRulesError(
    `expected the patterns with the first segment ${quote(head)} to have their * in few different places ` +
      `(${MOST_WILDCARD_STEPS} steps of a look-up), got: ${steps} with ${quote(pattern)}`,
    MOST_WILDCARD_STEPS,
  )
}

function hasWildcard(pattern: string): boolean {
  return pattern.includes('*')
}

/** One character for each segment: `*`, or `-` for a literal. */
function shapeOf(pattern: string): string {
  return pattern
    .split('/')
    .map((segment) => (segment === '*' ? '*' : '-'))
    .join('')
}

/** How many beginnings of the shapes have a `*`: for each key a look-up visits at most one node for each of them. */
function stepsOf(shapes: Iterable<string>): number {
  const steps = new Set<string>()
  for (const shape of shapes) {
    for (let end = shape.indexOf('*') + 1; end <= shape.length; end++) steps.add(shape.slice(0, end))
  }
  return steps.size
}

import type { Block, Expression, ExpressionOf, Local, Statement } from './ast.ts'
import { walkedBy } from './surroundings.ts'

/** Statements, expressions and what they are made of, down to names and numbers. */
type Part = Statement | Expression | readonly unknown[] | object

/**
 * The locals of a block whose tables are never changed and never seen as a whole: each use of them reads a field, or walks
 * over them. So it does not matter whether two runs of the script share one table.
 */
export function onlyRead(block: Block): ReadonlySet<Local> {
  const read = new Set<Local>()
  const other = new Set<Local>()

  const visit = (part: unknown): void => {
    if (typeof part === 'object' && part !== null) visitPart(part)
  }
  const visitObject = (object: Expression): void => {
    if (object.type === 'local') read.add(object.local)
    else visit(object)
  }
  const visitPart = (part: Part): void => {
    const type = 'type' in part ? (part.type as (Statement | Expression)['type']) : undefined
    if (type === 'local' && 'local' in part) other.add(part.local as Local)
    else if (type === 'index') {
      const { object, key } = part as ExpressionOf<'index'>
      visitObject(object)
      visit(key)
    } else if (type === 'assign') {
      const { targets, values } = part as Extract<Statement, { type: 'assign' }>
      // What is assigned to is changed.
      for (const target of targets) visit(target.type === 'index' ? [target.object, target.key] : undefined)
      visit(values)
    } else if (type === 'for-in') {
      const { values, block: body } = part as Extract<Statement, { type: 'for-in' }>
      const walked = walkedBy(values)
      if (walked === undefined) visit(values)
      else visitObject(walked.table)
      visit(body)
    } else if (type === 'unary' && (part as ExpressionOf<'unary'>).operator === '#') {
      visitObject((part as ExpressionOf<'unary'>).operand)
    } else for (const inner of Object.values(part)) visit(inner)
  }

  visit(block)
  return new Set([...read].filter((local) => !local.isAssigned && !other.has(local)))
}

/** What the values of a table depend on: on nothing, on the first key of the script, or on more than that. */
export function dependsOn({ fields }: ExpressionOf<'table'>): 'nothing' | 'first key' | 'more' {
  const parts = fields.flatMap(({ key, value }) => [...(key === undefined ? [] : [key]), ...joinedBy(value)])
  if (parts.every(isConstant)) return 'nothing'
  return parts.every((part) => isConstant(part) || isFirstKey(part)) ? 'first key' : 'more'
}

/** The parts of a text that is put together; otherwise the value itself. */
function joinedBy(value: Expression): readonly Expression[] {
  if (value.type !== 'binary' || value.operator !== '..') return [value]
  return [...joinedBy(value.left), ...joinedBy(value.right)]
}

function isConstant({ type }: Expression): boolean {
  return type === 'string' || type === 'number' || type === 'true' || type === 'false'
}

function isFirstKey(expression: Expression): boolean {
  if (expression.type !== 'index') return false
  const { object, key } = expression
  return object.type === 'global' && object.name === 'KEYS' && key.type === 'number' && key.value === 1
}

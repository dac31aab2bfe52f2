import type { Block, Expression, Field, FunctionBody } from './ast.ts'
import type { Scopes } from './scopes.ts'
import type { Tokens } from './tokens.ts'

/** Left and right power of each binary operator; the right one is less for those that associate to the right. */
const POWERS: Readonly<Record<string, readonly [number, number]>> = {
  or: [1, 1],
  and: [2, 2],
  '<': [3, 3],
  '>': [3, 3],
  '<=': [3, 3],
  '>=': [3, 3],
  '~=': [3, 3],
  '==': [3, 3],
  '..': [5, 4],
  '+': [6, 6],
  '-': [6, 6],
  '*': [7, 7],
  '/': [7, 7],
  '%': [7, 7],
  '^': [10, 9],
}
const UNARY_POWER = 8

/** Reads expressions, and functions with the help of what reads statements. */
export class ExpressionParser {
  readonly #tokens: Tokens
  readonly #scopes: Scopes
  readonly #statements: () => Block
  #isVariadic = true

  /** @param statements reads the statements of a function */
  constructor(tokens: Tokens, scopes: Scopes, statements: () => Block) {
    this.#tokens = tokens
    this.#scopes = scopes
    this.#statements = statements
  }

  list(): Expression[] {
    const list = [this.expression()]
    while (this.#tokens.accept(',')) list.push(this.expression())
    return list
  }

  expression(limit = 0): Expression {
    const tokens = this.#tokens
    const { line } = tokens.current
    let left: Expression
    const unary = (['not', '-', '#'] as const).find((operator) => tokens.accept(operator))
    if (unary !== undefined) {
      left = { type: 'unary', operator: unary, operand: this.expression(UNARY_POWER), line }
    } else left = this.#simple()
    for (;;) {
      const { kind, text: operator, line: at } = tokens.current
      const powers = kind === 'sign' || kind === 'word' ? POWERS[operator] : undefined
      if (powers === undefined || powers[0] <= limit) return left
      tokens.advance()
      left = { type: 'binary', operator, left, right: this.expression(powers[1]), line: at }
    }
  }

  #simple(): Expression {
    const tokens = this.#tokens
    const token = tokens.current
    const { line } = token
    if (token.kind === 'number') {
      tokens.advance()
      return { type: 'number', value: token.value, line }
    }
    if (token.kind === 'string') {
      tokens.advance()
      return { type: 'string', value: token.text, line }
    }
    for (const type of ['nil', 'true', 'false'] as const) if (tokens.accept(type)) return { type, line }
    if (tokens.is('...')) {
      if (!this.#isVariadic) throw tokens.error("cannot use '...' outside a vararg function near '...'")
      tokens.advance()
      return { type: 'varargs', line }
    }
    if (tokens.is('{')) return this.#table()
    if (tokens.accept('function')) return { type: 'function', body: this.functionBody(line, false), line }
    return this.suffixed()
  }

  suffixed(): Expression {
    const tokens = this.#tokens
    let expression = this.#primary()
    for (;;) {
      const { line } = tokens.current
      if (tokens.accept('.')) {
        const key = { type: 'string', value: tokens.name(), line } as const
        expression = { type: 'index', object: expression, key, line }
      } else if (tokens.accept('[')) {
        const key = this.expression()
        tokens.expect(']')
        expression = { type: 'index', object: expression, key, line }
      } else if (tokens.accept(':')) {
        const name = tokens.name()
        expression = { type: 'method', object: expression, name, args: this.#arguments(), line }
      } else if (tokens.startsArguments) {
        expression = { type: 'call', callee: expression, args: this.#arguments(), line }
      } else return expression
    }
  }

  #primary(): Expression {
    const tokens = this.#tokens
    const { line } = tokens.current
    if (tokens.accept('(')) {
      const inner = this.expression()
      tokens.expect(')', '(', line)
      return { type: 'parentheses', inner, line }
    }
    if (tokens.current.kind !== 'name') throw tokens.error(`unexpected symbol near '${tokens.current.text}'`)
    return this.#scopes.resolve(tokens.name(), line)
  }

  #arguments(): Expression[] {
    const tokens = this.#tokens
    const token = tokens.current
    if (token.kind === 'string') {
      tokens.advance()
      return [{ type: 'string', value: token.text, line: token.line }]
    }
    if (tokens.is('{')) return [this.#table()]
    tokens.expect('(')
    if (tokens.accept(')')) return []
    const args = this.list()
    tokens.expect(')', '(', token.line)
    return args
  }

  #table(): Expression {
    const tokens = this.#tokens
    const { line } = tokens.current
    tokens.expect('{')
    const fields: Field[] = []
    while (!tokens.is('}')) {
      fields.push(this.#field())
      if (!tokens.accept(',') && !tokens.accept(';')) break
    }
    tokens.expect('}', '{', line)
    return { type: 'table', fields, line }
  }

  #field(): Field {
    const tokens = this.#tokens
    const { line } = tokens.current
    if (tokens.accept('[')) {
      const key = this.expression()
      tokens.expect(']')
      tokens.expect('=')
      return { key, value: this.expression() }
    }
    if (tokens.current.kind === 'name' && tokens.next.kind === 'sign' && tokens.next.text === '=') {
      const key = { type: 'string', value: tokens.name(), line } as const
      tokens.expect('=')
      return { key, value: this.expression() }
    }
    return { key: undefined, value: this.expression() }
  }

  /** From its parameters to its end. */
  functionBody(line: number, isMethod: boolean): FunctionBody {
    const tokens = this.#tokens
    const isOuterVariadic = this.#isVariadic
    this.#scopes.enterFunction()
    const parameters = isMethod ? [this.#scopes.make('self')] : []
    this.#isVariadic = false
    tokens.expect('(')
    while (!tokens.is(')')) {
      if (tokens.accept('...')) {
        this.#isVariadic = true
        break
      }
      parameters.push(this.#scopes.make(tokens.name()))
      if (!tokens.accept(',')) break
    }
    tokens.expect(')')
    for (const parameter of parameters) this.#scopes.declare(parameter)
    const block = this.#statements()
    tokens.expect('end', 'function', line)
    this.#scopes.leaveFunction()
    const body = { parameters, isVariadic: this.#isVariadic, block }
    this.#isVariadic = isOuterVariadic
    return body
  }
}

import type { Block, Expression, FunctionBody, Local, Statement } from './ast.ts'
import { ExpressionParser } from './expression-parser.ts'
import { Scopes } from './scopes.ts'
import { Tokens } from './tokens.ts'

/** Reads a script into a tree. @throws LuaSyntaxError */
export function parse(source: string): FunctionBody {
  const parser = new Parser(source)
  return parser.chunk()
}

class Parser {
  readonly #tokens: Tokens
  readonly #scopes = new Scopes()
  readonly #expressions: ExpressionParser
  #loops = 0

  constructor(source: string) {
    this.#tokens = new Tokens(source)
    this.#expressions = new ExpressionParser(this.#tokens, this.#scopes, () => this.#functionBlock())
  }

  chunk(): FunctionBody {
    this.#scopes.enterFunction()
    const block = this.#statements()
    if (this.#tokens.current.kind !== 'end') throw this.#tokens.expected('<eof>')
    this.#scopes.leaveFunction()
    return { parameters: [], isVariadic: true, block }
  }

  /** A loop around a function is none inside of it. */
  #functionBlock(): Block {
    const loops = this.#loops
    this.#loops = 0
    const block = this.#statements()
    this.#loops = loops
    return block
  }

  #block(): Block {
    this.#scopes.enter()
    const block = this.#statements()
    this.#scopes.leave()
    return block
  }

  #statements(): Block {
    const statements: Statement[] = []
    const tokens = this.#tokens
    while (!tokens.endsBlock) {
      const isLast = tokens.is('return') || tokens.is('break')
      statements.push(this.#statement())
      tokens.accept(';')
      if (isLast) break
    }
    return statements
  }

  #loop(): Block {
    this.#loops++
    const block = this.#block()
    this.#loops--
    return block
  }

  #statement(): Statement {
    const tokens = this.#tokens
    const { line } = tokens.current
    if (tokens.accept('if')) return this.#if(line)
    if (tokens.accept('while')) {
      const condition = this.#expressions.expression()
      tokens.expect('do')
      const block = this.#loop()
      tokens.expect('end', 'while', line)
      return { type: 'while', condition, block, line }
    }
    if (tokens.accept('do')) {
      const block = this.#block()
      tokens.expect('end', 'do', line)
      return { type: 'do', block, line }
    }
    if (tokens.accept('for')) return this.#for(line)
    if (tokens.accept('repeat')) return this.#repeat(line)
    if (tokens.accept('function')) return this.#functionStatement(line)
    if (tokens.accept('local')) return this.#local(line)
    if (tokens.accept('return')) {
      const isBare = tokens.endsBlock || tokens.is(';')
      return { type: 'return', values: isBare ? [] : this.#expressions.list(), line }
    }
    if (tokens.accept('break')) {
      if (this.#loops === 0) throw tokens.error('no loop to break')
      return { type: 'break', line }
    }
    return this.#expressionStatement(line)
  }

  #if(line: number): Statement {
    const tokens = this.#tokens
    const branches: { condition: Expression; block: Block }[] = []
    let otherwise: Block | undefined
    do {
      const condition = this.#expressions.expression()
      tokens.expect('then')
      branches.push({ condition, block: this.#block() })
    } while (tokens.accept('elseif'))
    if (tokens.accept('else')) otherwise = this.#block()
    tokens.expect('end', 'if', line)
    return { type: 'if', branches, otherwise, line }
  }

  #for(line: number): Statement {
    const tokens = this.#tokens
    const names = [tokens.name()]
    if (tokens.accept('=')) {
      const from = this.#expressions.expression()
      tokens.expect(',')
      const to = this.#expressions.expression()
      const step = tokens.accept(',') ? this.#expressions.expression() : undefined
      const { locals, block } = this.#forBody(names, line)
      return { type: 'for', local: locals[0]!, from, to, step, block, line }
    }
    while (tokens.accept(',')) names.push(tokens.name())
    tokens.expect('in')
    const values = this.#expressions.list()
    return { type: 'for-in', values, ...this.#forBody(names, line), line }
  }

  #forBody(names: readonly string[], line: number): { locals: Local[]; block: Block } {
    this.#tokens.expect('do')
    this.#scopes.enter()
    const locals = names.map((name) => this.#scopes.make(name))
    for (const local of locals) this.#scopes.declare(local)
    const block = this.#loop()
    this.#scopes.leave()
    this.#tokens.expect('end', 'for', line)
    return { locals, block }
  }

  /** The condition sees the locals of the block. */
  #repeat(line: number): Statement {
    this.#loops++
    this.#scopes.enter()
    const block = this.#statements()
    this.#tokens.expect('until', 'repeat', line)
    const condition = this.#expressions.expression()
    this.#scopes.leave()
    this.#loops--
    return { type: 'repeat', condition, block, line }
  }

  #functionStatement(line: number): Statement {
    const tokens = this.#tokens
    let target = this.#scopes.resolve(tokens.name(), line)
    let isMethod = false
    while (!isMethod && (tokens.is('.') || tokens.is(':'))) {
      isMethod = tokens.accept(':')
      if (!isMethod) tokens.expect('.')
      target = { type: 'index', object: target, key: { type: 'string', value: tokens.name(), line }, line }
    }
    const body = this.#expressions.functionBody(line, isMethod)
    return this.#assignment([target], [{ type: 'function', body, line }], line)
  }

  #local(line: number): Statement {
    const tokens = this.#tokens
    if (tokens.accept('function')) {
      const local = this.#scopes.make(tokens.name())
      local.isFunction = true
      this.#scopes.declare(local)
      return { type: 'local-function', local, body: this.#expressions.functionBody(line, false), line }
    }
    const locals = [this.#scopes.make(tokens.name())]
    while (tokens.accept(',')) locals.push(this.#scopes.make(tokens.name()))
    const values = tokens.accept('=') ? this.#expressions.list() : []
    for (const local of locals) this.#scopes.declare(local)
    return { type: 'local', locals, values, line }
  }

  #expressionStatement(line: number): Statement {
    const tokens = this.#tokens
    const first = this.#expressions.suffixed()
    if (!tokens.is('=') && !tokens.is(',')) {
      if (first.type !== 'call' && first.type !== 'method') throw tokens.expected('=')
      return { type: 'call', call: first, line }
    }
    const targets = [first]
    while (tokens.accept(',')) targets.push(this.#expressions.suffixed())
    tokens.expect('=')
    return this.#assignment(targets, this.#expressions.list(), line)
  }

  #assignment(targets: readonly Expression[], values: readonly Expression[], line: number): Statement {
    for (const target of targets) {
      if (target.type === 'local') target.local.isAssigned = true
      else if (target.type !== 'global' && target.type !== 'index') throw this.#tokens.expected('=')
    }
    return { type: 'assign', targets, values, line }
  }
}

import type { Expression, ExpressionOf, FunctionBody, Local } from './ast.ts'
import type { Commons } from './commons.ts'
import { givesOne, pathOf } from './surroundings.ts'

const ARITHMETIC: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'subtract',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
  '^': 'power',
  '..': 'concat',
}

const COMPARISONS: Readonly<Record<string, (left: string, right: string) => string>> = {
  '==': (left, right) => `R.equal(${left},${right})`,
  '~=': (left, right) => `!R.equal(${left},${right})`,
  '<': (left, right) => `R.less(${left},${right})`,
  '<=': (left, right) => `R.lessOrEqual(${left},${right})`,
  '>': (left, right) => `R.greater(${left},${right})`,
  '>=': (left, right) => `R.greaterOrEqual(${left},${right})`,
}

const CONSTANTS: ReadonlySet<string> = new Set(['nil', 'true', 'false', 'number', 'string'])

/** Makes JavaScript of expressions. `t` is a variable that each function has for a value that is used at once. */
export abstract class Expressions {
  readonly commons: Commons
  readonly #parameters = new Set(['R'])
  #ids = 0

  constructor(commons: Commons) {
    this.commons = commons
  }

  /** What the generated code is to be given, by names of `commons`. */
  get parameters(): readonly string[] {
    return [...this.#parameters]
  }

  abstract functionBody(body: FunctionBody): string
  abstract nameOf(local: Local): string

  /** Makes something a parameter of the generated code. */
  use(parameter: string): string {
    this.#parameters.add(parameter)
    return parameter
  }

  /** The variable for the keys or the arguments of the script. */
  input(name: 'KEYS' | 'ARGV'): string {
    return `${this.use(this.commons.cell(name))}.v`
  }

  fresh(): number {
    return ++this.#ids
  }

  /** Whether it can give no value, or several. */
  isOpen(expression: Expression): boolean {
    const { type } = expression
    return (type === 'call' && !givesOne(expression)) || type === 'method' || type === 'varargs'
  }

  isNeverNil(expression: Expression): boolean {
    const { type } = expression
    if (type === 'unary') return expression.operator === 'not' || expression.operator === '#'
    if (type === 'binary') return COMPARISONS[expression.operator] !== undefined
    return type !== 'nil' && (CONSTANTS.has(type) || type === 'table' || type === 'function')
  }

  /** Code whose value is a boolean. */
  condition(expression: Expression): string {
    if (expression.type === 'parentheses') return this.condition(expression.inner)
    if (expression.type === 'true') return 'true'
    if (expression.type === 'nil' || expression.type === 'false') return 'false'
    if (expression.type === 'unary' && expression.operator === 'not') {
      return `!(${this.condition(expression.operand)})`
    }
    if (expression.type === 'binary') {
      const { operator, left, right } = expression
      if (operator === 'and') return `(${this.condition(left)}&&${this.condition(right)})`
      if (operator === 'or') return `(${this.condition(left)}||${this.condition(right)})`
      if (COMPARISONS[operator] !== undefined) return this.single(expression)
    }
    return `R.truth(${this.single(expression)})`
  }

  /** Code that gives an array of all values. */
  array(values: readonly Expression[]): string {
    const last = values[values.length - 1]
    if (last === undefined) return '[]'
    if (values.length === 1 && this.isOpen(last)) {
      return last.type === 'varargs' ? 'va' : `R.all(${this.multiple(last)})`
    }
    return `[${this.args(values)}]`
  }

  /** Code for the arguments of a call. */
  args(values: readonly Expression[]): string {
    const parts = values.map((value) => this.single(value))
    const last = values[values.length - 1]
    if (last !== undefined && this.isOpen(last)) parts[parts.length - 1] = `...${this.array([last])}`
    return parts.join(',')
  }

  /** Code that gives whatever a call gives. */
  multiple(expression: Expression): string {
    if (expression.type === 'call') return this.#call(expression)
    if (expression.type === 'method') return this.#method(expression)
    return this.single(expression)
  }

  /** Code that gives exactly one value. */
  single(expression: Expression): string {
    switch (expression.type) {
      case 'nil':
        return 'undefined'
      case 'true':
      case 'false':
        return expression.type
      case 'number':
        return `${expression.value}`
      case 'string':
        return quote(expression.value)
      case 'varargs':
        return 'va[0]'
      case 'local':
        return this.nameOf(expression.local)
      case 'global':
        return this.#global(expression.name)
      case 'index':
        return this.#index(expression)
      case 'call':
      case 'method':
        return givesOne(expression) ? this.multiple(expression) : `R.first(${this.multiple(expression)})`
      case 'function':
        return `(${this.functionBody(expression.body)})`
      case 'binary':
        return this.#binary(expression)
      case 'unary':
        return this.#unary(expression)
      case 'parentheses':
        return this.single(expression.inner)
      case 'table':
        return this.#table(expression)
    }
  }

  /** How messages name it: code of a text, or `''`. */
  describe(expression: Expression): string {
    if (expression.type === 'local') {
      return quote(`${expression.isUpvalue ? 'upvalue' : 'local'} '${expression.local.name}'`)
    }
    if (expression.type === 'global') return quote(`global '${expression.name}'`)
    if (expression.type === 'parentheses') return this.describe(expression.inner)
    if (expression.type !== 'index') return "''"
    const { key } = expression
    return quote(`field '${key.type === 'string' ? key.value : '?'}'`)
  }

  #global(name: string): string {
    if (name === 'KEYS' || name === 'ARGV') return this.input(name)
    if (!this.commons.has(name)) return `R.noGlobal(${quote(name)})`
    return this.use(this.commons.global(name))
  }

  #index(expression: ExpressionOf<'index'>): string {
    const { object, key } = expression
    const path = pathOf(expression)
    if (path !== undefined && this.commons.isFunction(path)) return this.use(this.commons.global(path))
    const where = `${this.single(object)},${this.single(key)},${this.describe(object)}`
    return `${mark(expression.line)}R.${key.type === 'string' ? 'field' : 'index'}(${where})`
  }

  #call({ callee, args, line }: ExpressionOf<'call'>): string {
    const code = this.single(callee)
    const isOurs = callee.type === 'local' && callee.local.isFunction && !callee.local.isAssigned
    const path = pathOf(callee)
    if (isOurs || (path !== undefined && this.commons.isFunction(path)))
      return `${mark(line)}${code}(${this.args(args)})`
    const checked = `(typeof(t=${code})==='function'?t:R.callee(t,${this.describe(callee)}))`
    return `${mark(line)}${checked}(${this.args(args)})`
  }

  #method({ object, name, args, line }: ExpressionOf<'method'>): string {
    const method = `R.callee(R.field(t=${this.single(object)},${quote(name)},${this.describe(object)}),${quote(`method '${name}'`)})`
    const rest = args.length > 0 ? `,${this.args(args)}` : ''
    return `${mark(line)}((m,o)=>(...a)=>m(o,...a))(${method},t)(${rest.slice(1)})`
  }

  #binary({ operator, left, right, line }: ExpressionOf<'binary'>): string {
    if (operator === 'and') return `(R.truth(t=${this.single(left)})?${this.single(right)}:t)`
    if (operator === 'or') return `(R.truth(t=${this.single(left)})?t:${this.single(right)})`
    const [one, other] = [this.single(left), this.single(right)]
    const comparison = COMPARISONS[operator]
    if (comparison !== undefined) {
      const isPlain = CONSTANTS.has(left.type) || CONSTANTS.has(right.type)
      if (operator === '==' && isPlain) return `(${one}===${other})`
      if (operator === '~=' && isPlain) return `(${one}!==${other})`
      return `${mark(line)}${comparison(one, other)}`
    }
    const names = `${this.describe(left)},${this.describe(right)}`
    return `${mark(line)}R.${ARITHMETIC[operator]}(${one},${other},${names})`
  }

  #unary({ operator, operand, line }: ExpressionOf<'unary'>): string {
    if (operator === 'not') return `!(${this.condition(operand)})`
    if (operator === '-' && operand.type === 'number') return `(-${operand.value})`
    const name = operator === '-' ? 'negate' : 'length'
    return `${mark(line)}R.${name}(${this.single(operand)},${this.describe(operand)})`
  }

  #table({ fields }: ExpressionOf<'table'>): string {
    if (fields.length === 0) return 'new R.LuaTable()'
    const listed = fields.filter(({ key }) => key === undefined).map(({ value }) => value)
    const last = fields[fields.length - 1]!
    const open = last.key === undefined && this.isOpen(last.value) ? last.value : undefined
    const plain = open === undefined ? listed : listed.slice(0, -1)
    const values = `[${plain.map((value) => this.single(value)).join(',')}]`
    let code = open === undefined ? `new R.LuaTable(${values})` : `R.list(${values},${this.array([open])})`
    for (const { key, value } of fields) {
      if (key === undefined) continue
      if (key.type === 'string') code = `${code}.with(${quote(key.value)},${this.single(value)})`
      else code = `R.setKey(${code},${this.single(key)},${this.single(value)})`
    }
    return code
  }
}

function quote(text: string): string {
  return JSON.stringify(text)
}

/** See `lineMark`. */
function mark(line: number): string {
  return `\u0001${line}\u0002`
}

import type { Block, Expression, FunctionBody, Local, Statement } from './ast.ts'
import { type Commons, fileOf } from './commons.ts'
import { lineMark, Statements } from './generate-statements.ts'
import { dependsOn, onlyRead } from './only-read.ts'

/** Code that returns a function of the keys and arguments of a script, and what it is to be given. */
interface Generated {
  readonly code: string
  readonly parameters: readonly string[]
  /** By the file of each function that it shares with other scripts: how many lines of this one stand before it. */
  readonly linesBefore: ReadonlyMap<string, number>
}

/**
 * Makes JavaScript of a script. Each statement and call stands on the line on which it stands in Lua, so that the stack of JavaScript
 * tells the line of an error.
 *
 * Of what leaves nothing behind but its reply, as scripts do, the runs cannot tell some things apart, which are made once for all of
 * them, and for all scripts that have the same: the functions of the outermost block, and the tables there that are only read.
 */
export function generate(
  body: FunctionBody,
  commons: Commons,
  { leavesNothing }: { readonly leavesNothing: boolean },
): Generated {
  const script: Script = {
    onlyRead: onlyRead(body.block),
    places: new Map(),
    declared: new Map(),
    linesBefore: new Map(),
  }
  const generator = new Generator(commons, script, leavesNothing ? body.block : [])
  const main = generator.functionBody(body)
  const run = `return(keys,args)=>{${generator.input('KEYS')}=keys;${generator.input('ARGV')}=args;return main()}`
  const code = withLines(`const main=${main};${run}`)
  return { code, parameters: generator.parameters, linesBefore: script.linesBefore }
}

/** Marks are made of control characters, as no code is. */
const MARKS = new RegExp(`${String.fromCharCode(1)}(\\d+)${String.fromCharCode(2)}`, 'g')

function withLines(code: string, before = 0): string {
  let current = 1
  return code.replace(MARKS, (_, text) => {
    const missing = Math.max(0, Number(text) - before - current)
    current += missing
    return '\n'.repeat(missing)
  })
}

/** Where functions find a local of the outermost block: in a parameter of their code, or it is a constant. */
interface Place {
  readonly parameter: string | undefined
  readonly code: string
}

/** What is known of a script while it is translated. */
interface Script {
  readonly onlyRead: ReadonlySet<Local>
  readonly places: Map<Local, Place>
  /** How often something was declared in the same way. */
  readonly declared: Map<string, number>
  readonly linesBefore: Map<string, number>
}

class Generator extends Statements {
  readonly #script: Script
  readonly #outermost: Block
  readonly #own = new Map<Local, string>()
  /** Each function of the statement is made once in a run, and sees nothing but what has a place. */
  #isOuter = false

  constructor(commons: Commons, script: Script, outermost: Block = []) {
    super(commons)
    this.#script = script
    this.#outermost = outermost
  }

  nameOf(local: Local): string {
    const place = this.#script.places.get(local)
    if (place !== undefined) {
      if (place.parameter !== undefined) this.use(place.parameter)
      return place.code
    }
    let name = this.#own.get(local)
    if (name === undefined) {
      // Not by its number in the script: the same function has the same code in another one.
      name = `${local.name}$${this.#own.size}`
      this.#own.set(local, name)
    }
    return name
  }

  functionBody(body: FunctionBody): string {
    return this.#isOuter ? this.use(this.#common(body)) : this.#function(body)
  }

  #function({ parameters, isVariadic, block }: FunctionBody): string {
    const names = parameters.map((local) => this.nameOf(local))
    if (isVariadic) names.push('...va')
    return `(${names.join(',')})=>{let t;${block === this.#outermost ? this.#outermostBlock(block) : this.block(block)}}`
  }

  /** A function of the outermost block, and of all scripts that have the same. */
  #common(body: FunctionBody, itself?: Local): string {
    const { commons } = this
    const { linesBefore } = this.#script
    const inner = new Generator(commons, this.#script)
    const name = itself === undefined ? 'itself' : inner.nameOf(itself)
    const marked = `const ${name}=${inner.#function(body)};return ${name}`
    const before = Number(marked.match(new RegExp(MARKS.source))?.[1] ?? 1) - 1
    let code = withLines(marked, before)
    for (;;) {
      const common = commons.value(code, inner.parameters)
      const file = fileOf(common)
      if ((linesBefore.get(file) ?? before) === before) {
        linesBefore.set(file, before)
        return common
      }
      // The script has it twice.
      code += ';'
    }
  }

  #outermostBlock(block: Block): string {
    return block.map((statement) => lineMark(statement.line) + this.#outer(statement)).join('')
  }

  #outer(statement: Statement): string {
    switch (statement.type) {
      case 'do':
        return `{${this.#outermostBlock(statement.block)}}`
      case 'local-function':
        return this.#outerFunction(statement.local, statement.body)
      case 'local':
        return this.#inOuter(() => this.#outerLocal(statement.locals, statement.values))
      case 'assign':
        return this.#inOuter(() => this.statement(statement))
      default:
        return this.statement(statement)
    }
  }

  #inOuter<T>(generated: () => T): T {
    this.#isOuter = true
    try {
      return generated()
    } finally {
      this.#isOuter = false
    }
  }

  #outerFunction(local: Local, body: FunctionBody): string {
    if (!local.isAssigned) {
      this.#place(local, this.#common(body, local))
      return ''
    }
    this.#toCell(local, '')
    return `${this.nameOf(local)}=${this.use(this.#common(body))};`
  }

  #outerLocal(locals: readonly Local[], values: readonly Expression[]): string {
    const [local] = locals
    const [value] = values
    if (value !== undefined && locals.length === 1 && values.length === 1 && !local!.isAssigned) {
      if (isConstant(value)) {
        this.#script.places.set(local!, { parameter: undefined, code: this.single(value) })
        return ''
      }
      if (value.type === 'function') {
        this.#place(local!, this.#common(value.body))
        return ''
      }
      if (value.type === 'table' && this.#script.onlyRead.has(local!)) {
        const source = dependsOn(value)
        const table = this.single(value)
        if (source === 'nothing') {
          this.#place(local!, this.commons.value(`return ${withoutLines(table)}`, ['R']))
          return ''
        }
        if (source === 'first key') {
          const cell = this.#toCell(local!, table)
          return `${cell}.v=R.kept(${cell},${this.input('KEYS')},()=>${table});`
        }
      }
    }
    // No function sees it.
    if (!locals.some(({ isCaptured }) => isCaptured)) return this.local(locals, values)
    const codes = values.map((each) => this.single(each))
    const isPlain = values.length === locals.length && (values.length === 1 || !this.isOpen(values.at(-1)!))
    const list = values.length === 0 || isPlain ? '' : this.array(values)
    for (const [at, captured] of locals.entries()) this.#toCell(captured, isPlain ? codes[at]! : list)
    const names = locals.map((captured) => this.nameOf(captured))
    if (values.length === 0) return `${names.join('=')}=undefined;`
    if (isPlain) return names.map((name, at) => `${name}=${codes[at]};`).join('')
    return `[${names.join(',')}]=${list};`
  }

  /** Functions find the local in a parameter. */
  #place(local: Local, parameter: string): void {
    this.#script.places.set(local, { parameter, code: parameter })
  }

  /** The local is a variable that scripts share which declare it in the same way, so that they can share what sees it. */
  #toCell(local: Local, value: string): string {
    const { declared, places } = this.#script
    const way = `${local.name}=${withoutLines(value)}`
    const count = declared.get(way) ?? 0
    declared.set(way, count + 1)
    const parameter = this.commons.cell(`${way};${count}`)
    places.set(local, { parameter, code: `${parameter}.v` })
    return this.use(parameter)
  }
}

/** A number or a text, which stands wherever its local does. */
function isConstant(value: Expression): boolean {
  const { type } = value
  if (type === 'unary') return value.operator === '-' && value.operand.type === 'number'
  return type === 'number' || type === 'string' || type === 'true' || type === 'false'
}

function withoutLines(code: string): string {
  return code.replace(MARKS, '')
}

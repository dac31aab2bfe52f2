import type { Block, Expression, FunctionBody, Local, Statement } from './ast.ts'
import { Expressions } from './generate-expressions.ts'
import { dependsOn, onlyRead } from './only-read.ts'
import { type Surroundings, walkedBy } from './surroundings.ts'

/**
 * Makes JavaScript of a script: code that returns a function of its keys and arguments. Each statement and call stands on the line
 * on which it stands in Lua, so that the stack of JavaScript tells the line of an error.
 *
 * Of what leaves nothing behind but its reply, as scripts do, the runs cannot tell some things apart, which are made once for all of
 * them: the functions of the outermost block, and the tables there that are only read.
 */
export function generate(
  body: FunctionBody,
  surroundings: Surroundings,
  { leavesNothing }: { readonly leavesNothing: boolean },
): { code: string; names: readonly string[] } {
  const generator = new Generator(surroundings, leavesNothing ? body.block : [])
  const main = generator.functionBody(body)
  const shared = ['KEYS', 'ARGV', ...generator.shared].join(',')
  const run = `return(keys,args)=>{KEYS=keys;ARGV=args;return main()}`
  return { code: withLines(`let ${shared};const main=${main};${run}`), names: generator.globals }
}

/** Before what stands on a line of Lua: replaced by as many new lines as are missing. */
export function lineMark(line: number): string {
  return `\u0001${line}\u0002`
}

/** Marks are made of control characters, as no code is. */
const MARKS = new RegExp(`${String.fromCharCode(1)}(\\d+)${String.fromCharCode(2)}`, 'g')

function withLines(code: string): string {
  let current = 1
  return code.replace(MARKS, (_, text) => {
    const missing = Math.max(0, Number(text) - current)
    current += missing
    return '\n'.repeat(missing)
  })
}

class Generator extends Expressions {
  readonly #outermost: Block
  readonly #onlyRead: ReadonlySet<Local>
  readonly #shared: string[] = []

  constructor(surroundings: Surroundings, outermost: Block) {
    super(surroundings)
    this.#outermost = outermost
    this.#onlyRead = onlyRead(outermost)
  }

  /** Variables that all runs share, with their values before the first one. */
  get shared(): readonly string[] {
    return this.#shared
  }

  functionBody({ parameters, isVariadic, block }: FunctionBody): string {
    const names = parameters.map((local) => this.nameOf(local))
    if (isVariadic) names.push('...va')
    return `(${names.join(',')})=>{let t;${this.#block(block)}}`
  }

  #block(block: Block): string {
    const isOutermost = block === this.#outermost
    return block
      .map((statement) => {
        const code = isOutermost ? this.#outer(statement) : undefined
        return lineMark(statement.line) + (code ?? this.#statement(statement))
      })
      .join('')
  }

  /** A statement of the outermost block whose value or whose variable lasts longer than one run. */
  #outer(statement: Statement): string | undefined {
    if (statement.type === 'local-function') {
      const { local, body } = statement
      return `${this.#share(local)}${local.isAssigned ? '=' : '??='}${this.functionBody(body)};`
    }
    if (statement.type !== 'local') return undefined
    const { locals, values } = statement
    const [local] = locals
    const [value] = values
    if (value?.type === 'table' && locals.length === 1 && values.length === 1 && this.#onlyRead.has(local!)) {
      const source = dependsOn(value)
      if (source === 'nothing') return `${this.#share(local!)}??=${this.single(value)};`
      if (source === 'first key') {
        this.#shared.push(`m${local!.id}=new Map()`)
        return `${this.#share(local!)}=R.kept(m${local!.id},KEYS,()=>${this.single(value)});`
      }
    }
    // Functions of all runs see it.
    if (!locals.some(({ isCaptured }) => isCaptured)) return undefined
    for (const captured of locals) this.#share(captured)
    const names = locals.map((captured) => this.nameOf(captured))
    if (values.length === 0) return `${names.join('=')}=undefined;`
    const isPlain = values.length === names.length && (names.length === 1 || !this.isOpen(values.at(-1)!))
    if (isPlain) return names.map((name, at) => `${name}=${this.single(values[at]!)};`).join('')
    return `[${names.join(',')}]=${this.array(values)};`
  }

  #share(local: Local): string {
    const name = this.nameOf(local)
    this.#shared.push(name)
    return name
  }

  #statement(statement: Statement): string {
    switch (statement.type) {
      case 'local':
        return this.#local(statement.locals, statement.values)
      case 'local-function': {
        const keyword = statement.local.isAssigned ? 'let' : 'const'
        return `${keyword} ${this.nameOf(statement.local)}=${this.functionBody(statement.body)};`
      }
      case 'assign':
        return this.#assign(statement.targets, statement.values)
      case 'call':
        return `${this.multiple(statement.call)};`
      case 'do':
        return `{${this.#block(statement.block)}}`
      case 'while':
        return `while(${this.condition(statement.condition)}){${this.#block(statement.block)}}`
      case 'repeat':
        return `for(;;){${this.#block(statement.block)}if(${this.condition(statement.condition)})break;}`
      case 'if':
        return this.#if(statement)
      case 'for':
        return this.#for(statement)
      case 'for-in':
        return this.#forIn(statement)
      case 'return':
        return this.#return(statement.values)
      case 'break':
        return 'break;'
    }
  }

  #local(locals: readonly Local[], values: readonly Expression[]): string {
    if (values.length <= 1 && locals.length === 1) {
      const [local] = locals
      const value = values[0] === undefined ? 'undefined' : this.single(values[0])
      return `${local!.isAssigned ? 'let' : 'const'} ${this.nameOf(local!)}=${value};`
    }
    const names = locals.map((local) => this.nameOf(local))
    if (values.length === 0) return `let ${names.join(',')};`
    const isPlain = values.length === locals.length && !this.isOpen(values[values.length - 1]!)
    // No value sees the locals that are declared here, so one after the other is the same as all at once.
    if (isPlain) return `let ${names.map((name, at) => `${name}=${this.single(values[at]!)}`).join(',')};`
    return `let [${names.join(',')}]=${this.array(values)};`
  }

  #assign(targets: readonly Expression[], values: readonly Expression[]): string {
    if (targets.length === 1 && values.length === 1) return this.#set(targets[0]!, this.single(values[0]!))
    const id = this.fresh()
    const before: string[] = []
    const sets = targets.map((target, at) => {
      const value = `v${id}[${at}]`
      if (target.type !== 'index') return this.#set(target, value)
      before.push(`o${id}_${at}=${this.single(target.object)}`, `k${id}_${at}=${this.single(target.key)}`)
      return `R.setIndex(o${id}_${at},k${id}_${at},${value},${this.describe(target.object)});`
    })
    return `{const ${[...before, `v${id}=${this.array(values)}`].join(',')};${sets.join('')}}`
  }

  #set(target: Expression, value: string): string {
    if (target.type === 'local') return `${this.nameOf(target.local)}=${value};`
    if (target.type === 'global') return `R.setGlobal(${JSON.stringify(target.name)},${value});`
    if (target.type !== 'index') throw new Error(`no target: ${target.type}`)
    const object = this.single(target.object)
    return `R.setIndex(${object},${this.single(target.key)},${value},${this.describe(target.object)});`
  }

  #if({ branches, otherwise }: Extract<Statement, { type: 'if' }>): string {
    const parts = branches.map(
      ({ condition, block }) => `if(${this.condition(condition)}){${this.#block(block)}}`,
    )
    return parts.join('else ') + (otherwise === undefined ? '' : `else{${this.#block(otherwise)}}`)
  }

  #for({ local, from, to, step, block }: Extract<Statement, { type: 'for' }>): string {
    const id = this.fresh()
    const [i, end, by] = [`i${id}`, `e${id}`, `s${id}`]
    const fixed = step === undefined ? 1 : step.type === 'number' ? step.value : undefined
    const starts = [`${i}=${this.#bound(from, 'initial value')}`, `${end}=${this.#bound(to, 'limit')}`]
    if (fixed === undefined) starts.push(`${by}=${this.#bound(step!, 'step')}`)
    const goesOn =
      fixed === undefined ? `${by}>0?${i}<=${end}:${i}>=${end}` : fixed > 0 ? `${i}<=${end}` : `${i}>=${end}`
    const body = `${local.isAssigned ? 'let' : 'const'} ${this.nameOf(local)}=${i};${this.#block(block)}`
    return `for(let ${starts.join(',')};${goesOn};${i}+=${fixed ?? by}){${body}}`
  }

  #bound(expression: Expression, which: string): string {
    if (expression.type === 'number') return `${expression.value}`
    return `R.bound(${this.single(expression)},'${which}')`
  }

  #forIn({ locals, values, block }: Extract<Statement, { type: 'for-in' }>): string {
    const names = locals.map((local) => this.nameOf(local))
    const id = this.fresh()
    const known = this.#knownIterator(values)
    if (known !== undefined && names.length <= 2) {
      const [key, value = `u${id}`] = names
      const body = `let ${key}=w${id}.key,${value}=w${id}.value;${this.#block(block)}`
      return `for(const w${id}=${known};w${id}.step();){${body}}`
    }
    const start = `let [f${id},s${id},c${id}]=${this.array(values)};`
    const call = `const r${id}=R.all(R.callee(f${id})(s${id},c${id}));let [${names.join(',')}]=r${id};`
    const next = `if(${names[0]}===undefined)break;c${id}=${names[0]};`
    return `{${start}for(;;){${call}${next}${this.#block(block)}}}`
  }

  #knownIterator(values: readonly Expression[]): string | undefined {
    const walked = walkedBy(values)
    if (walked === undefined) return undefined
    return `R.${walked.by === 'pairs' ? 'walkPairs' : 'walkList'}(${this.single(walked.table)})`
  }

  #return(values: readonly Expression[]): string {
    if (values.length === 0) return 'return;'
    if (values.length > 1 || values[0]!.type === 'varargs') return `return ${this.array(values)};`
    const [value] = values
    if (this.isOpen(value!)) return `return(${this.multiple(value!)});`
    if (this.isNeverNil(value!)) return `return(${this.single(value!)});`
    return `return((t=${this.single(value!)})===undefined?R.NIL:t);`
  }
}

import type { Block, Expression, Local, Statement } from './ast.ts'
import { Expressions } from './generate-expressions.ts'
import { walkedBy } from './surroundings.ts'

/** Before what stands on a line of Lua: replaced by as many new lines as are missing. */
export function lineMark(line: number): string {
  return `\u0001${line}\u0002`
}

/** Makes JavaScript of statements. */
export abstract class Statements extends Expressions {
  block(block: Block): string {
    return block.map((statement) => lineMark(statement.line) + this.statement(statement)).join('')
  }

  statement(statement: Statement): string {
    switch (statement.type) {
      case 'local':
        return this.local(statement.locals, statement.values)
      case 'local-function': {
        const keyword = statement.local.isAssigned ? 'let' : 'const'
        return `${keyword} ${this.nameOf(statement.local)}=${this.functionBody(statement.body)};`
      }
      case 'assign':
        return this.#assign(statement.targets, statement.values)
      case 'call':
        return `${this.multiple(statement.call)};`
      case 'do':
        return `{${this.block(statement.block)}}`
      case 'while':
        return `while(${this.condition(statement.condition)}){${this.block(statement.block)}}`
      case 'repeat':
        return `for(;;){${this.block(statement.block)}if(${this.condition(statement.condition)})break;}`
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

  local(locals: readonly Local[], values: readonly Expression[]): string {
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
      ({ condition, block }) => `if(${this.condition(condition)}){${this.block(block)}}`,
    )
    return parts.join('else ') + (otherwise === undefined ? '' : `else{${this.block(otherwise)}}`)
  }

  #for({ local, from, to, step, block }: Extract<Statement, { type: 'for' }>): string {
    const id = this.fresh()
    const [i, end, by] = [`i${id}`, `e${id}`, `s${id}`]
    const fixed = step === undefined ? 1 : step.type === 'number' ? step.value : undefined
    const starts = [`${i}=${this.#bound(from, 'initial value')}`, `${end}=${this.#bound(to, 'limit')}`]
    if (fixed === undefined) starts.push(`${by}=${this.#bound(step!, 'step')}`)
    const goesOn =
      fixed === undefined ? `${by}>0?${i}<=${end}:${i}>=${end}` : fixed > 0 ? `${i}<=${end}` : `${i}>=${end}`
    const body = `${local.isAssigned ? 'let' : 'const'} ${this.nameOf(local)}=${i};${this.block(block)}`
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
      const body = `let ${key}=w${id}.key,${value}=w${id}.value;${this.block(block)}`
      return `for(const w${id}=${known};w${id}.step();){${body}}`
    }
    const start = `let [f${id},s${id},c${id}]=${this.array(values)};`
    const call = `const r${id}=R.all(R.callee(f${id})(s${id},c${id}));let [${names.join(',')}]=r${id};`
    const next = `if(${names[0]}===undefined)break;c${id}=${names[0]};`
    return `{${start}for(;;){${call}${next}${this.block(block)}}}`
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

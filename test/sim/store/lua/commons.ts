import { compileFunction } from 'node:vm'
import { CHUNK } from './error.ts'
import type { Surroundings } from './surroundings.ts'
import { LuaTable, type Value } from './value.ts'

/** A variable that functions of several scripts see: only one script runs at a time, and it sets the variable before they read it. */
export class Cell {
  v: Value = undefined
  /** The tables that it has held, by the first key of the script. */
  readonly kept = new Map<Value, LuaTable>()
}

/**
 * What the scripts of one environment have in common: its globals, and functions and tables that are the same in several of them. Each
 * script of the product has its own copy of the libraries that it uses. They are compiled, and made fast by the engine, once.
 */
export class Commons implements Surroundings {
  readonly #globals: LuaTable
  /** By the names under which generated code gets them as parameters. */
  readonly #values = new Map<string, unknown>()
  readonly #cells = new Map<string, string>()
  readonly #made = new Map<string, string>()

  constructor(globals: LuaTable, runtime: object) {
    this.#globals = globals
    this.#values.set('R', runtime)
  }

  has(name: string): boolean {
    return this.#globals.get(name) !== undefined
  }

  isFunction(path: string): boolean {
    return typeof this.#find(path) === 'function'
  }

  /** The parameter that stands for a global, or for a function of a library as `string.sub`. */
  global(path: string): string {
    const name = `G_${path.replace('.', '_')}`
    if (!this.#values.has(name)) this.#values.set(name, this.#find(path))
    return name
  }

  /** The parameter for a cell; the same for what is declared in the same way. */
  cell(declared: string): string {
    let name = this.#cells.get(declared)
    if (name === undefined) {
      name = `c${this.#cells.size}`
      this.#cells.set(declared, name)
      this.#values.set(name, new Cell())
    }
    return name
  }

  /** The parameter for what the code returns, which is run once. */
  value(code: string, parameters: readonly string[]): string {
    let name = this.#made.get(code)
    if (name === undefined) {
      name = `u${this.#made.size}`
      this.#made.set(code, name)
      this.#values.set(name, this.run(code, parameters, fileOf(name)))
    }
    return name
  }

  /** Runs code with the parameters that it names. */
  run(code: string, parameters: readonly string[], filename: string): unknown {
    const body = compileFunction(code, [...parameters], { filename })
    return body(...parameters.map((name) => this.#values.get(name)))
  }

  #find(path: string): Value {
    const [name, part] = path.split('.')
    const value = this.#globals.get(name)
    return part !== undefined && value instanceof LuaTable ? value.get(part) : value
  }
}

/** The name under which a function is compiled that scripts share. */
export function fileOf(name: string): string {
  return `${CHUNK}:${name}`
}

import type { Expression, Local } from './ast.ts'

/** Which name means which local while a script is read. */
export class Scopes {
  #blocks: Map<string, Local>[] = []
  #depth = 0
  #ids = 0

  enter(): void {
    this.#blocks.push(new Map())
  }

  leave(): void {
    this.#blocks.pop()
  }

  enterFunction(): void {
    this.#depth++
    this.enter()
  }

  leaveFunction(): void {
    this.leave()
    this.#depth--
  }

  /** A local that is not in sight yet: its own initial value does not see it. */
  make(name: string): Local {
    return {
      name,
      id: ++this.#ids,
      depth: this.#depth,
      isAssigned: false,
      isCaptured: false,
      isFunction: false,
    }
  }

  declare(local: Local): void {
    this.#blocks[this.#blocks.length - 1]!.set(local.name, local)
  }

  resolve(name: string, line: number): Expression {
    for (let index = this.#blocks.length - 1; index >= 0; index--) {
      const local = this.#blocks[index]!.get(name)
      if (local === undefined) continue
      const isUpvalue = local.depth < this.#depth
      if (isUpvalue) local.isCaptured = true
      return { type: 'local', local, isUpvalue, line }
    }
    return { type: 'global', name, line }
  }
}

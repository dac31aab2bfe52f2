import { grown } from './visited.ts'

/** The steps between states, for looking backwards. */
export class Edges {
  #from = new Int32Array(1 << 16)
  #to = new Int32Array(1 << 16)
  #count = 0

  add(from: number, to: number): void {
    if (from === to) return
    if (this.#count === this.#from.length) {
      this.#from = grown(this.#from)
      this.#to = grown(this.#to)
    }
    this.#from[this.#count] = from
    this.#to[this.#count++] = to
  }

  /** The first state from which no step leads on towards one of the goals. */
  firstThatCannotReach(goals: readonly number[], states: number): number | undefined {
    const offsets = new Int32Array(states + 1)
    for (let edge = 0; edge < this.#count; edge++) offsets[this.#to[edge]! + 1]! += 1
    for (let state = 0; state < states; state++) offsets[state + 1]! += offsets[state]!
    const sources = new Int32Array(this.#count)
    const filled = offsets.slice()
    for (let edge = 0; edge < this.#count; edge++) {
      const to = this.#to[edge]!
      sources[filled[to]!] = this.#from[edge]!
      filled[to]! += 1
    }
    const reached = new Uint8Array(states)
    const open = [...goals]
    for (const goal of open) reached[goal] = 1
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      for (let at = offsets[state]!; at < offsets[state + 1]!; at++) {
        const source = sources[at]!
        if (reached[source] === 1) continue
        reached[source] = 1
        open.push(source)
      }
    }
    const stuck = reached.indexOf(0)
    return stuck === -1 ? undefined : stuck
  }
}

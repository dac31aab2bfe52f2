import type { Setup } from '../setup.ts'
import type { Cells } from '../store/cells.ts'
import { Edges } from './edges.ts'
import { handoffSpace } from './handoff-space.ts'
import type { SearchedStep, Space } from './space.ts'
import { grown, Visited } from './visited.ts'

export interface Exploration {
  readonly name: string
  readonly states: number
  readonly steps: number
  readonly depth: number
  /** Of the processor. */
  readonly seconds: number
  /** The bound was reached before everything was seen. */
  readonly isCut: boolean
  readonly breach: Breach | undefined
}

export interface Breach {
  readonly law: string
  /** The shortest way to it. */
  readonly trace: readonly string[]
}

export interface ExploreOptions {
  readonly mostStates?: number
  /** Checks also that from each state all jobs can end without another fault. */
  readonly withProgress?: boolean
}

/** All states of the protocol within the bounds of the setup, those that take the fewest steps first. */
export function explore(setup: Setup, options?: ExploreOptions): Exploration {
  return exploreSpace(handoffSpace(setup), options)
}

export function exploreSpace<AnyStep extends SearchedStep>(
  space: Space<AnyStep>,
  { mostStates = Number.POSITIVE_INFINITY, withProgress = true }: ExploreOptions = {},
): Exploration {
  const before = process.cpuUsage()
  const search = new Search(space, withProgress)
  const breach = search.run(mostStates) ?? search.findStuck()
  const { states, steps, depth, isCut } = search
  const { user, system } = process.cpuUsage(before)
  return { name: space.name, states, steps, depth, isCut, breach, seconds: (user + system) / 1e6 }
}

class Search<AnyStep extends SearchedStep> {
  readonly #space: Space<AnyStep>
  readonly #visited = new Visited()
  readonly #edges: Edges | undefined
  /** Of each state, the one from which it was found, and the step. */
  #parents = new Int32Array(1 << 15)
  #steps = new Int32Array(1 << 15)
  #goals: number[] = []
  readonly #first: Cells
  steps = 0
  depth = 0
  isCut = false

  constructor(space: Space<AnyStep>, withProgress: boolean) {
    this.#space = space
    this.#edges = withProgress ? new Edges() : undefined
    space.canonicalize()
    this.#first = space.step.world.cells.slice()
  }

  get states(): number {
    return this.#visited.count
  }

  run(mostStates: number): Breach | undefined {
    this.#visited.find(this.#first)
    this.#noteGoal(0)
    let frontier = [{ number: 0, cells: this.#first }]
    while (frontier.length > 0) {
      const next: typeof frontier = []
      for (const state of frontier) {
        const law = this.#expand(state, next)
        if (law !== undefined) return law
        if (this.#visited.count > mostStates) {
          this.isCut = true
          return undefined
        }
      }
      if (next.length > 0) this.depth++
      frontier = next
    }
    return undefined
  }

  #expand(
    { number, cells }: { readonly number: number; readonly cells: Cells },
    next: { number: number; cells: Cells }[],
  ): Breach | undefined {
    const { step, transitions } = this.#space
    const { world } = step
    world.cells.set(cells)
    for (const [kind, transition] of transitions.entries()) {
      const ways = transition.ways(world)
      for (let way = 0; way < ways; way++) {
        const hasHappened = transition.take(step, way)
        if (hasHappened) {
          this.steps++
          this.#space.judge()
          if (world.breach !== undefined) return this.#breachAfter(number, kind * 64 + way, world.breach)
          this.#space.canonicalize()
          const found = this.#visited.find(world.cells)
          if (found.isNew) {
            this.#noteParent(found.number, number, kind * 64 + way)
            this.#noteGoal(found.number)
            next.push({ number: found.number, cells: world.cells.slice() })
          }
          if (transition.isFault !== true) this.#edges?.add(number, found.number)
        }
        // A fault that cannot happen may have been counted.
        if (hasHappened || transition.isFault === true) world.cells.set(cells)
        world.breach = undefined
      }
    }
    return undefined
  }

  #noteParent(number: number, parent: number, step: number): void {
    if (number >= this.#parents.length) {
      this.#parents = grown(this.#parents)
      this.#steps = grown(this.#steps)
    }
    this.#parents[number] = parent
    this.#steps[number] = step
  }

  #noteGoal(number: number): void {
    if (this.#edges !== undefined && this.#space.isOver()) this.#goals.push(number)
  }

  /** A state from which the jobs cannot end any more, though no fault happens. */
  findStuck(): Breach | undefined {
    if (this.#edges === undefined || this.isCut) return undefined
    const stuck = this.#edges.firstThatCannotReach(this.#goals, this.states)
    return stuck === undefined ? undefined : { law: 'progress', trace: this.#traceTo(stuck) }
  }

  #breachAfter(number: number, step: number, law: string): Breach {
    return { law, trace: this.#traceTo(number, step) }
  }

  #traceTo(number: number, last?: number): string[] {
    const path = last === undefined ? [] : [last]
    for (let at = number; at !== 0; at = this.#parents[at]!) path.unshift(this.#steps[at]!)
    const { step, transitions } = this.#space
    step.world.cells.set(this.#first)
    return path.map((code) => {
      const transition = transitions[Math.floor(code / 64)]!
      const what = transition.describe?.(step.world, code % 64)
      transition.take(step, code % 64)
      this.#space.judge()
      this.#space.canonicalize()
      return `${what === undefined ? '' : `${what}: `}${transition.name}  [${transition.verb}]`
    })
  }
}

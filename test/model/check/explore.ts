import { Calls } from '../actors/calls.ts'
import { UNASKED, World } from '../actors/world.ts'
import { judgeState } from '../laws.ts'
import type { Setup } from '../setup.ts'
import { isEnded } from '../store/leave.ts'
import { ABSENT } from '../store/shard.ts'
import { Canonical } from './canonical.ts'
import { Edges } from './edges.ts'
import { TRANSITIONS } from './transitions.ts'
import { grown, Visited } from './visited.ts'

export interface Exploration {
  readonly setup: Setup
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
export function explore(
  setup: Setup,
  { mostStates = Number.POSITIVE_INFINITY, withProgress = true }: ExploreOptions = {},
): Exploration {
  const before = process.cpuUsage()
  const search = new Search(setup, withProgress)
  const breach = search.run(mostStates) ?? search.findStuck()
  const { states, steps, depth, isCut } = search
  const { user, system } = process.cpuUsage(before)
  return { setup, states, steps, depth, isCut, breach, seconds: (user + system) / 1e6 }
}

class Search {
  readonly #world: World
  readonly #calls: Calls
  readonly #canonical: Canonical
  readonly #visited = new Visited()
  readonly #edges: Edges | undefined
  /** Of each state, the one from which it was found, and the step. */
  #parents = new Int32Array(1 << 15)
  #steps = new Int32Array(1 << 15)
  #goals: number[] = []
  steps = 0
  depth = 0
  isCut = false

  constructor(setup: Setup, withProgress: boolean) {
    this.#world = new World(setup)
    for (const worker of this.#world.workers) for (const entry of worker.entries) this.#world.freeEntry(entry)
    this.#world.forgetLate()
    this.#calls = new Calls(this.#world)
    this.#canonical = new Canonical(this.#world)
    this.#edges = withProgress ? new Edges() : undefined
  }

  get states(): number {
    return this.#visited.count
  }

  run(mostStates: number): Breach | undefined {
    this.#canonical.apply()
    this.#visited.find(this.#world.cells)
    this.#noteGoal(0)
    let frontier = [{ number: 0, cells: this.#world.cells.slice() }]
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
    { number, cells }: { readonly number: number; readonly cells: World['cells'] },
    next: { number: number; cells: World['cells'] }[],
  ): Breach | undefined {
    const world = this.#world
    const step = { world, calls: this.#calls }
    world.cells.set(cells)
    for (const [kind, transition] of TRANSITIONS.entries()) {
      const ways = transition.ways(world)
      for (let way = 0; way < ways; way++) {
        const hasHappened = transition.take(step, way)
        if (hasHappened) {
          this.steps++
          judgeState(world)
          if (world.breach !== undefined) return this.#breachAfter(number, kind * 64 + way, world.breach)
          this.#canonical.apply()
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

  /** All jobs have ended, or were refused. */
  #noteGoal(number: number): void {
    if (this.#edges === undefined) return
    const { shard, told } = this.#world
    const isOver = shard.jobs.every(
      (job, index) => (job.state === ABSENT || isEnded(job)) && told[index]!.told !== UNASKED,
    )
    if (isOver) this.#goals.push(number)
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
    const world = this.#world
    const step = { world, calls: this.#calls }
    world.cells.set(new Search(world.setup, false).#world.cells)
    this.#canonical.apply()
    return path.map((code) => {
      const transition = TRANSITIONS[Math.floor(code / 64)]!
      const what = transition.describe?.(world, code % 64)
      transition.take(step, code % 64)
      judgeState(world)
      this.#canonical.apply()
      return `${what === undefined ? '' : `${what}: `}${transition.name}  [${transition.verb}]`
    })
  }
}

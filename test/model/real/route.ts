import { type Call, Calls } from '../actors/calls.ts'
import { World } from '../actors/world.ts'
import { TRANSITIONS } from '../check/transitions.ts'
import { setup } from '../configs.ts'
import { REAL } from '../durations.ts'
import type { WalkStep } from './walk.ts'

const ELAPSE = /^(\d+) ticks pass$/

/** A written way through the model, in the words in which a trace is printed, with the durations of the real scripts. */
export class Route {
  readonly world = new World(
    setup('a route', {
      jobs: [{ cost: 1, took: 1 }],
      limits: [{ capacity: 4, interval: 50, tolerance: 0, quotas: [{ amount: 100, window: 240, each: 2 }] }],
      settles: 1,
      durations: REAL,
      lookAhead: 25,
      faults: 1,
      kinds: ['doubled'],
      givesBack: true,
    }),
    true,
  )
  readonly #calls = new Calls(this.world)
  readonly #steps: readonly string[]
  #at = 0
  #made: Call[] = []

  constructor(steps: readonly string[]) {
    this.#steps = steps
    for (const worker of this.world.workers) for (const entry of worker.entries) this.world.freeEntry(entry)
    this.world.forgetLate()
    this.#calls.onCall = (call) => this.#made.push(call)
  }

  get length(): number {
    return this.#steps.length
  }

  begin(): WalkStep {
    return this.next()
  }

  /** @throws where the step cannot happen */
  next(): WalkStep {
    const text = this.#steps[this.#at++]!
    this.#made = []
    const elapsed = Number(ELAPSE.exec(text)?.[1] ?? 0)
    if (elapsed > 0) {
      this.world.elapse(elapsed)
      const transition = TRANSITIONS.find(({ name }) => name === 'time passes')!
      return { text, transition, way: 0, calls: [], elapsed }
    }
    for (const transition of TRANSITIONS) {
      for (let way = 0; way < transition.ways(this.world); way++) {
        if (`${transition.describe?.(this.world, way)}: ${transition.name}` !== text) continue
        if (transition.take({ world: this.world, calls: this.#calls }, way)) {
          return { text, transition, way, calls: this.#made, elapsed: 0 }
        }
      }
    }
    throw new Error(`it cannot happen: ${text}`)
  }
}

import { type Call, Calls } from '../actors/calls.ts'
import type { Transition } from '../actors/transition.ts'
import { World } from '../actors/world.ts'
import { TRANSITIONS } from '../check/transitions.ts'
import { REAL } from '../durations.ts'
import type { Setup } from '../setup.ts'
import { withParts } from './parts.ts'

/** A source of chance that a seed repeats. */
export function chanceOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Some of these pass between two steps: less than a slot, about one, a lease, a silence. */
const LAPSES = [1, 3, 10, 25, 26, 50, 51, 120, 205, 260]
/** Of walks on which two jobs and slow workers meet often: no silence, and yet a lease soon ends. */
const SLOW_LAPSES = [1, 25, 100, 190, 190]
const LIMITS = [
  [50, 0],
  [50, 2],
  [25, 1],
  [100, 0],
] as const

const FAULTS = ['lost', 'late', 'dropped', 'doubled', 'kill', 'stop', 'outage', 'restart'] as const
const SLOW_FAULTS = ['lost', 'late', 'doubled', 'doubled', 'stop'] as const
const CLOCK_FAULTS = ['forward', 'back', 'stop'] as const

/** How often a transition is tried, beside one for the others. */
const WEIGHTS: Readonly<Record<string, number>> = {
  'a producer enqueues': 3,
  claims: 4,
  'hands over what it claimed': 6,
  'BullMQ delivers': 6,
  'asks for a slot': 4,
  'looks, and calls the handler': 6,
  'reports the start': 2,
  'takes back what has lost its lease': 3,
  'goes on': 3,
  'asks for the time': 4,
  'reports that the clock was moved': 4,
  'renews its leases': 2,
}

/** Workers that stand still and go on late. */
const SLOW_WEIGHTS: Readonly<Record<string, number>> = {
  ...WEIGHTS,
  'goes on': 1,
  'reports the start': 1,
  'renews its leases': 1,
  'is stopped': 4,
}

/** Where hardly anything can happen, time passes. */
const MOST_TRIES = 200

export interface WalkStep {
  readonly text: string
  readonly transition: Transition
  readonly way: number
  readonly calls: readonly Call[]
  /** By how much the clock of the store moved on. */
  readonly elapsed: number
}

/** One way through the states of the model, with the durations of the real scripts. */
export class Walk {
  readonly world: World
  readonly #calls: Calls
  readonly #chance: () => number
  #made: Call[] = []
  #hasMoved = false
  #lapses: readonly number[] = LAPSES
  #weighted = WEIGHTED

  /** @param hasParts with limits that have quotas and places */
  constructor(seed: number, hasParts = false) {
    this.#chance = chanceOf(seed)
    const setup = this.#setup(seed)
    this.world = new World(hasParts ? withParts(setup, this.#chance) : setup, true)
    for (const worker of this.world.workers) for (const entry of worker.entries) this.world.freeEntry(entry)
    this.world.forgetLate()
    this.#calls = new Calls(this.world)
    this.#calls.onCall = (call) => this.#made.push(call)
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#chance() * items.length)]!
  }

  #setup(seed: number): Setup {
    const cost = () => this.#pick([1, 1, 1, 2])
    const deadline = () => this.#pick([undefined, undefined, undefined, 40, 150])
    const isNarrow = this.#chance() < 0.5
    if (isNarrow) this.#lapses = SLOW_LAPSES
    if (isNarrow) this.#weighted = SLOW_WEIGHTED
    const jobs = Array.from({ length: isNarrow ? 2 : 5 }, () => {
      const late = deadline()
      return late === undefined ? { cost: cost() } : { cost: cost(), deadline: late }
    })
    const limits = Array.from({ length: 3 }, (_, index) => {
      const [interval, tolerance] = this.#pick(LIMITS)
      // Each is another limit than that before it.
      return { capacity: 4 + index, interval, tolerance }
    })
    const movesClock = this.#chance() < 0.25
    const faults = isNarrow ? SLOW_FAULTS : FAULTS
    return {
      name: `walk ${seed}`,
      jobs,
      limits,
      durations: REAL,
      lookAhead: this.#pick([5, 25, 60]),
      keep: this.#pick([0, 5]),
      faults: isNarrow ? 12 : 6,
      kinds: movesClock ? CLOCK_FAULTS : faults,
      retries: 3,
      freezes: 2,
      cancels: 1,
      settles: 0,
      givesBack: true,
      away: this.#pick([0, 9, 70]),
      reuses: 3,
      clockStep: this.#pick([7, 20, 100, 400]),
      mutants: new Set(),
    }
  }

  /** The first claim tells the real store that there is a scheduler. */
  begin(): WalkStep {
    this.#made = []
    this.#calls.claim(1)
    const transition = TRANSITIONS.find(({ name }) => name === 'claims')!
    return { text: 'scheduler 1: claims', transition, way: 0, calls: this.#made, elapsed: 0 }
  }

  next(): WalkStep {
    if (this.#chance() < 0.25) return this.#wait()
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const transition = this.#pick(this.#weighted)
      const way = Math.floor(this.#chance() * transition.ways(this.world))
      const step = this.#try(transition, way)
      if (step !== undefined) return step
    }
    return this.#wait()
  }

  #try(transition: Transition, way: number): WalkStep | undefined {
    const { world } = this
    const movesClock = transition.name.startsWith('the clock of the store')
    // The model adds up all steps of the clock, as if they were one.
    if (movesClock && this.#hasMoved) return undefined
    const before = world.cells.slice()
    this.#made = []
    const what = transition.describe?.(world, way)
    const text = `${what === undefined ? '' : `${what}: `}${transition.name}`
    if (transition.take({ world, calls: this.#calls }, way)) {
      this.#hasMoved ||= movesClock
      const sign = transition.name.endsWith('forward') ? 1 : -1
      const elapsed = movesClock ? sign * world.setup.clockStep : 0
      return { text, transition, way, calls: this.#made, elapsed }
    }
    world.cells.set(before)
    return undefined
  }

  #wait(): WalkStep {
    const isUnsound = this.world.workers.some(({ state }) => state.skew !== 0 || state.unreported !== 0)
    const elapsed = isUnsound ? 1 : this.#pick(this.#lapses)
    this.world.elapse(elapsed)
    const transition = TRANSITIONS.find(({ name }) => name === 'time passes')!
    return { text: `${elapsed} ticks pass`, transition, way: 0, calls: [], elapsed }
  }
}

/** Time passes in steps of the walk's own. */
const weighted = (weights: Readonly<Record<string, number>>) =>
  TRANSITIONS.filter(({ name }) => name !== 'time passes').flatMap((transition) =>
    Array.from({ length: weights[transition.name] ?? 1 }, () => transition),
  )
const WEIGHTED = weighted(WEIGHTS)
const SLOW_WEIGHTED = weighted(SLOW_WEIGHTS)

import { REAL } from '../../durations.ts'
import { chanceOf } from '../../real/walk.ts'
import type { ModelLimit } from '../../setup.ts'
import { type FamilyCall, FamilyCalls } from '../actors/calls.ts'
import type { FamilyTransition } from '../actors/workers.ts'
import { FamilyWorld } from '../actors/world.ts'
import { FAMILY_TRANSITIONS } from '../check/space.ts'
import { type FamilySetup, familySetup, type ModelChild } from '../setup.ts'

/** Ticks of 10 ms: less than a slot, about one, more than the farthest slot. Several are as long as a lease. */
const LAPSES = [1, 1, 3, 5, 10, 25, 26, 50, 90]
/** Of a quota: a sub-window of each is two or four ticks. */
const WINDOWS = [120, 120, 240]
/** A scheduler claims before so long a silence. */
const LONGEST_SILENCE = 100

/** Each total has two children. */
const FAMILIES = [
  [['f/'], ['f/a', 'f/b']],
  [
    ['f/', 'f/g/'],
    ['f/g/a', 'f/b'],
  ],
  [
    ['f/', 'f/g/'],
    ['f/g/a', 'f/g/b', 'f/c'],
  ],
] as const

/** How often a transition is tried, beside one for the others. */
const WEIGHTS: Readonly<Record<string, number>> = {
  'a producer enqueues': 12,
  claims: 2,
  'hands over what it claimed': 6,
  'BullMQ delivers': 6,
  'asks for a slot': 4,
  'looks, and calls the handler': 6,
  'reports the start': 3,
  'reports the end': 2,
  'takes back what has lost its lease': 3,
  'gives the job back': 2,
  'is frozen': 2,
  'is paused': 2,
  'goes on after the pause': 6,
}
const WEIGHTED = FAMILY_TRANSITIONS.filter(({ name }) => name !== 'time passes').flatMap((transition) =>
  Array.from({ length: WEIGHTS[transition.name] ?? 1 }, () => transition),
)

/** Where hardly anything can happen, time passes. */
const MOST_TRIES = 200

export interface FamilyStepMade {
  readonly text: string
  readonly transition: FamilyTransition | undefined
  readonly way: number
  readonly calls: readonly FamilyCall[]
  /** By how much the clock of the store moved on. */
  readonly elapsed: number
}

/** One way through the states of a family, with the durations of the real scripts. */
export class FamilyWalk {
  readonly world: FamilyWorld
  readonly #calls: FamilyCalls
  readonly #chance: () => number
  #made: FamilyCall[] = []

  constructor(seed: number) {
    this.#chance = chanceOf(seed)
    this.world = new FamilyWorld(this.#setup(seed), true)
    this.#calls = new FamilyCalls(this.world)
    this.#calls.onCall = (call) => this.#made.push(call)
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#chance() * items.length)]!
  }

  #limit(
    capacities: readonly number[],
    intervals: readonly number[],
    tolerances: readonly number[],
  ): ModelLimit {
    const places = this.#pick([undefined, undefined, undefined, 1, 2])
    return {
      capacity: this.#pick(capacities),
      interval: this.#pick(intervals),
      tolerance: this.#pick(tolerances),
      ...(places !== undefined && capacities.length > 1 ? { places } : {}),
    }
  }

  #setup(seed: number): FamilySetup {
    const [totals, buckets] = this.#pick(FAMILIES)
    const weight = () => this.#pick([1, 1, 2, 3])
    const hasQuota = this.#chance() < 0.4
    const isHeld = !hasQuota && this.#chance() < 0.6
    const quotas = [{ amount: this.#pick([2, 3]), window: this.#pick(WINDOWS) }]
    const child = (key: string, limitOf: () => ModelLimit): ModelChild => {
      const [limit, other] = [limitOf(), limitOf()]
      // It is another limit than that before it.
      const changed = { ...other, capacity: limit.capacity + 1 }
      return { key, limit, weight: weight(), ...(this.#chance() < 0.5 ? { changed } : {}) }
    }
    return familySetup(`walk ${seed}`, {
      totals: totals.map((key, index) => {
        const total = child(key, () => this.#limit([4, 8, 20], [10, 25, 50], [0, 1, 2, 5]))
        if (index > 0) return total
        // What a changed limit remembers of quotas, and what a loss counts in them, the model of one bucket has.
        const { limit } = total
        return hasQuota ? { key, limit: { ...limit, quotas } } : { ...total, weight: 1 }
      }),
      buckets: buckets.map((key) => child(key, () => this.#limit([5], [5, 25, 60], [0, 1]))),
      jobs: Array.from({ length: 10 }, (_, job) => ({
        of: job < buckets.length ? job : this.#pick([...buckets.keys()]),
        cost: this.#pick([1, 1, 1, 2]),
      })),
      durations: { ...REAL, leastTolerance: 0.4, tagAsked: 10, tagAskedBy: 1_000, overdueGrace: 5 },
      // A job that is handed over long before its quota has room may ask the gate too early.
      lookAhead: this.#pick(hasQuota ? [25, 60] : [5, 25, 60]),
      schedulers: 2,
      holds: 3,
      faults: 6,
      kinds: hasQuota ? ['lost', 'dropped', 'kill'] : ['lost', 'dropped', 'kill', 'restart'],
      returns: 6,
      freezes: isHeld ? 12 : 1,
      pauses: isHeld ? 12 : 1,
      tagParts: 1,
    })
  }

  /** The first claim tells the real store that there is a scheduler. */
  begin(): FamilyStepMade {
    return this.#claim()
  }

  #claim(): FamilyStepMade {
    this.#made = []
    const transition = FAMILY_TRANSITIONS.find(({ name }) => name === 'claims')!
    const way = this.world.schedulers.findIndex(([first]) => first!.job === 0)
    if (way === -1) return this.#hand()
    transition.take({ world: this.world, calls: this.#calls }, way)
    return { text: `scheduler ${way + 1}: claims`, transition, way, calls: this.#made, elapsed: 0 }
  }

  #hand(): FamilyStepMade {
    const transition = FAMILY_TRANSITIONS.find(({ name }) => name === 'hands over what it claimed')!
    transition.take({ world: this.world, calls: this.#calls }, 0)
    return { text: 'scheduler 1: hands over what it claimed', transition, way: 0, calls: [], elapsed: 0 }
  }

  next(): FamilyStepMade {
    if (this.#chance() < 0.25) return this.#wait()
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const transition = this.#pick(WEIGHTED)
      const way = Math.floor(this.#chance() * transition.ways(this.world))
      const step = this.#try(transition, way)
      if (step !== undefined) return step
    }
    return this.#wait()
  }

  #try(transition: FamilyTransition, way: number): FamilyStepMade | undefined {
    const { world } = this
    const before = world.cells.slice()
    this.#made = []
    const what = transition.describe?.(world, way)
    const text = `${what === undefined ? '' : `${what}: `}${transition.name}`
    if (transition.take({ world, calls: this.#calls }, way)) {
      return { text, transition, way, calls: this.#made, elapsed: 0 }
    }
    world.cells.set(before)
    return undefined
  }

  #wait(): FamilyStepMade {
    const elapsed = this.#pick(LAPSES)
    if (this.world.family.shards[0]!.meta.heardAt < elapsed - LONGEST_SILENCE - 90) return this.#claim()
    this.world.elapse(elapsed)
    return { text: `${elapsed} ticks pass`, transition: undefined, way: 0, calls: [], elapsed }
  }
}

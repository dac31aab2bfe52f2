const FIRST_SWEEP = 1_024

/** The state of a key, and whether it may be deleted. */
export interface Lifecycle<State> {
  create(key: string, now: number): State
  /** Whether a new state at `now` would behave exactly like this one. */
  isOver(state: State, now: number): boolean
}

/**
 * The states of the keys in use. Obsolete states are deleted each time their number has doubled since the last sweep: a
 * constant cost per key, and memory only for the keys in use.
 */
export class LiveKeys<State> {
  readonly #lifecycle: Lifecycle<State>
  readonly #states = new Map<string, State>()
  #sweepAt = FIRST_SWEEP

  constructor(lifecycle: Lifecycle<State>) {
    this.#lifecycle = lifecycle
  }

  get size(): number {
    return this.#states.size
  }

  get(key: string, now: number): State {
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const state = this.#lifecycle.create(key, now)
    if (this.#states.size >= this.#sweepAt) this.#sweep(now)
    this.#states.set(key, state)
    return state
  }

  #sweep(now: number): void {
    for (const [key, state] of this.#states) {
      if (this.#lifecycle.isOver(state, now)) this.#states.delete(key)
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#states.size)
  }
}

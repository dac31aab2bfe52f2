import type { Clock } from '../core/clock.ts'
import { LeaseLostError } from '../core/handler-errors.ts'
import type { Costs } from '../core/usage.ts'
import type { ShapedJob } from '../line/shaped-job.ts'
import { DEFAULT_HOLD, type TurnPorts } from '../line/turn.ts'
import { TURN_LEASE } from './scripts/prelude.ts'
import type { PlaceEnd } from './worker/place-end.ts'

/** These timers may be late. */
const COARSE = Number.POSITIVE_INFINITY

type TurnJob = Pick<ShapedJob<unknown>, 'holdsPlace' | 'settle' | 'signal'>

/** A turn of this process that has departed under a limit with more than a pace. */
export class HeldPlace implements TurnPorts {
  /** Resolves when the place is given back. */
  readonly end: Promise<PlaceEnd>
  readonly #job: TurnJob
  readonly #clock: Clock
  readonly #until: number
  readonly #disarm: () => void
  #isOver = false
  #resolve: (end: PlaceEnd) => void = () => undefined
  #onAnswer: (wasHeld: boolean) => void = () => undefined

  /** @param holdFor how long it may hold its place and be settled; microseconds */
  constructor(job: TurnJob, clock: Clock, holdFor: number = DEFAULT_HOLD) {
    this.#job = job
    this.#clock = clock
    this.#until = clock.now() + holdFor
    this.end = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#disarm = job.holdsPlace ? clock.wake(this.#until, () => this.#give(true), COARSE) : () => undefined
    if (job.holdsPlace) this.#watchLease()
  }

  async settle(amounts: Costs): Promise<boolean> {
    if (this.#isOver || this.#clock.now() >= this.#until) return false
    return this.#job.settle(amounts)
  }

  /** While the store is away, it resolves to false once the lease is over; the store learns of it later. */
  release(): Promise<boolean> {
    if (this.#isOver || !this.#job.holdsPlace) {
      this.#isOver = true
      return Promise.resolve(false)
    }
    return new Promise((resolve) => {
      const disarm = this.#clock.wake(this.#clock.now() + TURN_LEASE, () => resolve(false), COARSE)
      this.#onAnswer = (wasHeld) => {
        disarm()
        resolve(wasHeld)
      }
      this.#give(false)
    })
  }

  #give(isExpired: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#disarm()
    this.#resolve({ isExpired, onAnswer: (wasHeld) => this.#onAnswer(wasHeld) })
  }

  /** The place of a turn whose lease is over belongs to another already. */
  #watchLease(): void {
    const { signal } = this.#job
    const onAbort = () => {
      if (!(signal.reason instanceof LeaseLostError)) return
      this.#give(false)
      this.#onAnswer(false)
    }
    signal.addEventListener('abort', onAbort, { once: true })
  }
}

/** The turns of this process that hold places of their limits. */
export class HeldPlaces {
  readonly #held = new Set<HeldPlace>()
  readonly #clock: Clock
  readonly #onEmpty: () => void

  /** @param onEmpty called when none is held any more */
  constructor(clock: Clock, onEmpty: () => void) {
    this.#clock = clock
    this.#onEmpty = onEmpty
  }

  get size(): number {
    return this.#held.size
  }

  depart(job: TurnJob, holdFor: number | undefined): HeldPlace {
    const place = new HeldPlace(job, this.#clock, holdFor)
    if (!job.holdsPlace) return place
    this.#held.add(place)
    void place.end.then(() => {
      this.#held.delete(place)
      if (this.#held.size === 0) this.#onEmpty()
    })
    return place
  }

  releaseAll(): void {
    for (const place of this.#held) void place.release()
  }
}

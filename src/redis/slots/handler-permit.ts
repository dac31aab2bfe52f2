import type { Clock } from '../../core/clock.ts'
import type { HandlerShares } from '../../core/handler-shares.ts'
import { type Pool, Semaphore } from '../../core/semaphore.ts'

/** The handlers of one worker, shared between keys as `HandlerShares` says. */
class Handlers implements Pool<string> {
  readonly isInOrder = false
  readonly #shares: HandlerShares
  readonly #clock: Pick<Clock, 'now'>

  constructor(shares: HandlerShares, clock: Pick<Clock, 'now'>) {
    this.#shares = shares
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#shares.free === 0
  }

  fits(key: string): boolean {
    return this.#shares.mayTake(key, this.#clock.now())
  }

  take(key: string): void {
    this.#shares.take(key)
  }

  putBack(key: string): boolean {
    this.#shares.release(key)
    return true
  }
}

/** A permit for each handler that may run at once; a claim is the key of its job. */
export function handlerPermits(shares: HandlerShares, clock: Pick<Clock, 'now'>): Semaphore<string> {
  return new Semaphore(new Handlers(shares, clock))
}

/** The permit of one job at the gate, held or not. */
export class HandlerPermit {
  readonly #permits: Semaphore<string>
  readonly #key: string
  #isHeld = false

  constructor(permits: Semaphore<string>, key: string) {
    this.#permits = permits
    this.#key = key
  }

  /** Whether it is held, or could be taken now. */
  get isWithinReach(): boolean {
    return this.#isHeld || this.#permits.mayTake(this.#key)
  }

  /** False: it is not held, and none is free for the key. */
  tryTake(): boolean {
    this.#isHeld ||= this.#permits.tryTake(this.#key)
    return this.#isHeld
  }

  /** Calls back with the permit held; returns a function that cancels it. None may be held or free. */
  take(onTaken: () => void): () => void {
    return this.#permits.take(this.#key, () => {
      this.#isHeld = true
      onTaken()
    })
  }

  /** Calls back once when one could be taken; returns a function that cancels it. */
  whenFree(onFree: () => void): () => void {
    return this.#permits.whenFree(this.#key, onFree)
  }

  /** It belongs to the handler from now on, which releases it. */
  handOn(): void {
    this.#isHeld = false
  }

  /** What was handed on was not used. */
  takeBack(): void {
    this.#isHeld = true
  }

  putBack(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#permits.release(this.#key)
  }
}

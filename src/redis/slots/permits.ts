import type { Clock } from '../../core/clock.ts'
import { HandlerShares } from '../../core/handler-shares.ts'

/**
 * So many handlers may run at once, shared between keys as `HandlerShares` says. Those that take a permit are served in the
 * order of asking, as far as their keys may have one; those that only look for one are told when they may, and take nothing.
 */
export class Permits {
  readonly #shares: HandlerShares
  readonly #clock: Pick<Clock, 'now'>
  /** What waits, and its key. */
  readonly #takers = new Map<() => void, string>()
  readonly #watchers = new Map<() => void, string>()

  constructor(count: number, clock: Pick<Clock, 'now'>) {
    this.#shares = new HandlerShares(count)
    this.#clock = clock
  }

  /** Whether the key may take one now. */
  mayTake(key: string): boolean {
    return this.#shares.mayTake(key, this.#clock.now())
  }

  /** False: none is free for the key. */
  tryTake(key: string): boolean {
    if (!this.mayTake(key)) return false
    this.#shares.take(key)
    return true
  }

  /** Calls back with the permit taken; calling the answer takes the wish back. None may be free for the key. */
  take(key: string, onTaken: () => void): () => void {
    this.#takers.set(onTaken, key)
    return () => void this.#takers.delete(onTaken)
  }

  /** Calls back once when one is free for the key, which may be gone again a moment later. None may be free for it. */
  whenFree(key: string, onFree: () => void): () => void {
    this.#watchers.set(onFree, key)
    return () => void this.#watchers.delete(onFree)
  }

  release(key: string): void {
    this.#shares.release(key)
    for (const [onTaken, taker] of this.#takers) {
      if (this.#shares.free === 0) return
      if (!this.tryTake(taker)) continue
      this.#takers.delete(onTaken)
      onTaken()
    }
    for (const [onFree, watcher] of this.#watchers) {
      if (!this.mayTake(watcher)) continue
      this.#watchers.delete(onFree)
      onFree()
    }
  }
}

/** What may hold a permit for one key. */
export class PermitHolder {
  readonly #permits: Permits
  readonly #key: string
  #isHeld = false

  constructor(permits: Permits, key: string) {
    this.#permits = permits
    this.#key = key
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Whether one is held, or could be taken now. */
  get isWithinReach(): boolean {
    return this.#isHeld || this.#permits.mayTake(this.#key)
  }

  /** False: none is held and none is free. */
  tryTake(): boolean {
    this.#isHeld ||= this.#permits.tryTake(this.#key)
    return this.#isHeld
  }

  /** Calls back with a permit held; calling the answer takes the wish back. None may be held or free. */
  take(onTaken: () => void): () => void {
    return this.#permits.take(this.#key, () => {
      this.#isHeld = true
      onTaken()
    })
  }

  /** Calls back once when one could be taken. */
  whenFree(onFree: () => void): () => void {
    return this.#permits.whenFree(this.#key, onFree)
  }

  /** It belongs to the handler from now on. */
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

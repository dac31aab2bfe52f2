/** What a semaphore gives out, and which claims fit. */
export interface Pool<Claim> {
  /** Nothing is left for any claim. */
  readonly isEmpty: boolean
  /** A claim that does not fit holds up those behind it, so that small claims never keep a large one out. */
  readonly isInOrder: boolean
  fits(claim: Claim): boolean
  take(claim: Claim): void
  /** Answers whether another claim may fit now that did not before. */
  putBack(claim: Claim): boolean
}

/** A number of equal units; a claim is for several of them. A claim for more than all gets in alone. */
export class Units implements Pool<number> {
  readonly isInOrder = true
  readonly #size: number
  #taken = 0

  constructor(size: number) {
    this.#size = size
  }

  get taken(): number {
    return this.#taken
  }

  get isEmpty(): boolean {
    return this.#taken >= this.#size
  }

  fits(count: number): boolean {
    return this.#taken === 0 || this.#taken + count <= this.#size
  }

  take(count: number): void {
    this.#taken += count
  }

  putBack(count: number): boolean {
    this.#taken -= count
    return true
  }
}

interface Waiting<Claim> {
  readonly claim: Claim
  readonly onTaken: () => void
  readonly onRefused: ((error: unknown) => void) | undefined
}

/**
 * Gives out what is in a pool, in the order of asking as far as the pool keeps it. Claims that only look for room are notified
 * when there is some, and take nothing.
 */
export class Semaphore<Claim> {
  readonly #pool: Pool<Claim>
  readonly #takers = new Set<Waiting<Claim>>()
  readonly #watchers = new Set<Waiting<Claim>>()

  constructor(pool: Pool<Claim>) {
    this.#pool = pool
  }

  /** Whether the claim could be taken now. */
  mayTake(claim: Claim): boolean {
    return this.#pool.fits(claim) && !(this.#pool.isInOrder && this.#takers.size > 0)
  }

  /** False: it does not fit, or others are first. */
  tryTake(claim: Claim): boolean {
    if (!this.mayTake(claim)) return false
    this.#pool.take(claim)
    return true
  }

  /**
   * Calls `onTaken` with the claim taken, never synchronously; call it after `tryTake` has failed. Returns a function that
   * cancels it.
   *
   * @param onRefused called instead when `refuseAll` comes first
   */
  take(claim: Claim, onTaken: () => void, onRefused?: (error: unknown) => void): () => void {
    const waiting = { claim, onTaken, onRefused }
    this.#takers.add(waiting)
    return () => {
      if (this.#takers.delete(waiting) && this.#pool.isInOrder) this.serve()
    }
  }

  /** Calls `onFree` once when the claim fits, which may be over a moment later. Returns a function that cancels it. */
  whenFree(claim: Claim, onFree: () => void): () => void {
    const waiting = { claim, onTaken: onFree, onRefused: undefined }
    this.#watchers.add(waiting)
    return () => void this.#watchers.delete(waiting)
  }

  release(claim: Claim): void {
    if (this.#pool.putBack(claim)) this.serve()
  }

  /** Gives those that wait what the pool has; to be called when the pool itself has grown. */
  serve(): void {
    for (const waiting of this.#takers) {
      if (this.#pool.isEmpty) return
      if (this.#pool.fits(waiting.claim)) {
        this.#takers.delete(waiting)
        this.#pool.take(waiting.claim)
        waiting.onTaken()
      } else if (this.#pool.isInOrder) return
    }
    for (const watcher of this.#watchers) {
      if (!this.mayTake(watcher.claim)) continue
      this.#watchers.delete(watcher)
      watcher.onTaken()
    }
  }

  /** Ends the wait of all that gave an `onRefused`. */
  refuseAll(error: unknown): void {
    for (const waiting of this.#takers) {
      if (waiting.onRefused === undefined) continue
      this.#takers.delete(waiting)
      waiting.onRefused(error)
    }
  }
}

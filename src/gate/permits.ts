/**
 * So many handlers may run at once. Whoever takes a permit is served in the order of asking; whoever only looks for a
 * free one is told when there is one, and takes nothing.
 */
export class Permits {
  #free: number
  readonly #takers = new Set<() => void>()
  readonly #watchers = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  get free(): number {
    return this.#free
  }

  /** False: none is free. */
  tryTake(): boolean {
    if (this.#free === 0) return false
    this.#free--
    return true
  }

  /** Calls back with the permit taken; calling the answer takes the wish back. None may be free. */
  take(onTaken: () => void): () => void {
    this.#takers.add(onTaken)
    return () => void this.#takers.delete(onTaken)
  }

  /** Calls back once when one is free, which may be gone again a moment later. None may be free. */
  whenFree(onFree: () => void): () => void {
    this.#watchers.add(onFree)
    return () => void this.#watchers.delete(onFree)
  }

  release(): void {
    const [taker] = this.#takers
    if (taker !== undefined) {
      this.#takers.delete(taker)
      taker()
      return
    }
    this.#free++
    const watchers = [...this.#watchers]
    this.#watchers.clear()
    for (const watcher of watchers) watcher()
  }
}

/** One who may hold a permit. */
export class PermitHolder {
  readonly #permits: Permits
  #isHeld = false

  constructor(permits: Permits) {
    this.#permits = permits
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** False: none is held and none is free. */
  tryTake(): boolean {
    this.#isHeld ||= this.#permits.tryTake()
    return this.#isHeld
  }

  /** Calls back with a permit held; calling the answer takes the wish back. None may be held or free. */
  take(onTaken: () => void): () => void {
    return this.#permits.take(() => {
      this.#isHeld = true
      onTaken()
    })
  }

  /** It belongs to somebody else from now on. */
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
    this.#permits.release()
  }
}

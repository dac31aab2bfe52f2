/** One of those that share a pool. */
export interface Sharer {
  /** How much of the pool it has. */
  running: number
  /** The period in which it last had work. */
  seen: number
}

/** A sharer that has nothing and had no work yet. */
export function newSharer(): Sharer {
  return { running: 0, seen: Number.NEGATIVE_INFINITY }
}

/**
 * Those that share a pool, by name: all that have something of it, and those that had work in this period of time or the one
 * before. Forgets the others without a timer.
 */
export class Sharers<Kind extends Sharer> {
  readonly #period: number
  readonly #create: () => Kind
  readonly #sharers = new Map<string, Kind>()
  #now = 0
  #since = Number.NEGATIVE_INFINITY

  /** @param period in the unit of `now` */
  constructor(period: number, create: () => Kind) {
    this.#period = period
    this.#create = create
  }

  get count(): number {
    return this.#sharers.size
  }

  get(name: string): Kind | undefined {
    return this.#sharers.get(name)
  }

  /** Notes that it has work at `now`; a new name only where there are fewer than `most`. */
  note(name: string, now: number, most: number): Kind | undefined {
    this.#advance(now)
    const sharer = this.get(name) ?? (this.count < most ? this.#add(name) : undefined)
    if (sharer !== undefined) sharer.seen = this.#now
    return sharer
  }

  take(name: string): Kind {
    const sharer = this.get(name) ?? this.#add(name)
    sharer.running++
    return sharer
  }

  /** Gives back what was taken. */
  release(name: string): Kind {
    const sharer = this.get(name)!
    sharer.running--
    this.#forget(name, sharer)
    return sharer
  }

  #add(name: string): Kind {
    const sharer = this.#create()
    this.#sharers.set(name, sharer)
    return sharer
  }

  #advance(now: number): void {
    const age = now - this.#since
    if (age < this.#period) return
    const passed = Math.floor(age / this.#period)
    this.#now += Math.min(2, passed)
    this.#since = Number.isFinite(passed) ? this.#since + passed * this.#period : now
    for (const [name, sharer] of this.#sharers) this.#forget(name, sharer)
  }

  #forget(name: string, { running, seen }: Sharer): void {
    if (running === 0 && seen < this.#now - 1) this.#sharers.delete(name)
  }
}

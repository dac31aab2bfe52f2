/** The places of a key: which of its jobs run, and hold a place among those that may run at once. */
export class Places {
  /** How many attempts of each job run: more than one only after an unexplained start. */
  readonly #running = new Map<string, number>()
  #taken = 0
  /** Places of attempts that a fault hit, by when their leases end at the earliest. */
  #leased: { readonly id: string; readonly until: number }[] = []
  /** Jobs that a fault hit: a lease that an observer cannot see may hold a place. */
  readonly #doubtful = new Set<string>()

  /** How many are surely taken at `at`. */
  takenAt(at: number): number {
    if (this.#leased.length > 0) this.#leased = this.#leased.filter(({ until }) => until > at)
    return this.#taken + this.#leased.length
  }

  /** How many may be taken. */
  get mostTaken(): number {
    return this.#taken + this.#doubtful.size
  }

  take(id: string): void {
    this.#doubtful.delete(id)
    this.#running.set(id, (this.#running.get(id) ?? 0) + 1)
    this.#taken += 1
  }

  /** The attempt of the job is over. Frees its place once, however often it is called. */
  free(id: string): void {
    this.#doubtful.delete(id)
    this.#leased = this.#leased.filter((place) => place.id !== id)
    this.#taken -= this.#running.get(id) ?? 0
    this.#running.delete(id)
  }

  /** A fault hit the job: what it held is free from `leaseUntil` on. `isLive`: it may start again. */
  interrupt(id: string, isLive: boolean, leaseUntil: number | undefined): void {
    const count = this.#running.get(id) ?? 0
    this.free(id)
    if (isLive) this.#doubtful.add(id)
    if (leaseUntil === undefined) return
    for (let place = 0; place < count; place++) this.#leased.push({ id, until: leaseUntil })
  }
}

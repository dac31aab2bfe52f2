/** Microseconds; less is the noise of looking. */
const NOTICEABLE = 100
/** So many calls after one that took long are looked at closely, which costs ten microseconds each. */
const CLOSELY_WATCHED = 1_000

/**
 * Finds out when a handler began, which is after the last look at the clock: the system may have taken the processor
 * away in between. Where that may have happened while the handler was being called, nobody can tell whether it was
 * before its first line or after it, so it counts as before. What a handler computes undisturbed is none of that.
 */
class StartWatch {
  readonly #now: () => number
  #closely = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** To be called just before the handler is. What it answers tells, once it was, the latest time at which it can have begun. */
  watch(): () => number {
    const before = this.#closely > 0 ? switches() : undefined
    const calledAt = this.#now()
    return () => {
      const now = this.#now()
      if (this.#closely > 0) this.#closely--
      if (now - calledAt <= NOTICEABLE) return calledAt
      this.#closely = CLOSELY_WATCHED
      return before === undefined || switches() > before ? now : calledAt
    }
  }
}

/** How often the system took the processor away from this process before it was done. */
function switches(): number {
  return process.resourceUsage().involuntaryContextSwitches
}

/** One for the clock of each shard. */
export class StartWatches {
  readonly #watches = new Map<number, StartWatch>()
  readonly #now: (shard: number) => number

  constructor(now: (shard: number) => number) {
    this.#now = now
  }

  of(shard: number): StartWatch {
    let watch = this.#watches.get(shard)
    if (watch === undefined) {
      watch = new StartWatch(() => this.#now(shard))
      this.#watches.set(shard, watch)
    }
    return watch
  }
}

import { MILLISECOND } from '../core/duration.ts'

/** How many of a key's latest calls decide how long its handlers compute before they first wait. */
const REMEMBERED = 16
/** A shorter call counts as lateness in full, without a guess. */
const NOTICEABLE = MILLISECOND
/** The most keys that are remembered; beyond, those whose handlers were called longest ago are forgotten. */
const MOST_KEYS = 1_000

/**
 * Estimates the latest time at which the first statement of a handler can have run. The clock is read before the call and after
 * it; in between the system may have taken the processor away, and the engine may have compiled or collected, before the
 * first statement as well as after it. What each of the key's latest calls took at least is the handlers' own computing,
 * which follows their first statement; the rest counts as before it. Each key is judged by its own calls: beside one
 * whose handlers compute, the lateness of another would pass for computing.
 */
export class StartWatch {
  /** How long the latest calls took, of keys of which the last one was noticeable; the one called last stands last. */
  readonly #calls = new Map<string, LatestCalls>()

  /**
   * Returns how late the first statement may have run after the call began. Call it once for each call.
   *
   * @param took from the call of the handler until it returned
   */
  possibleDelay(key: string, took: number): number {
    if (took < NOTICEABLE) {
      if (this.#calls.size > 0) this.#calls.delete(key)
      return took
    }
    const calls = this.#calls.get(key) ?? new LatestCalls()
    this.#calls.delete(key)
    this.#calls.set(key, calls)
    if (this.#calls.size > MOST_KEYS) this.#calls.delete(this.#calls.keys().next().value!)
    return Math.max(0, took - calls.note(took))
  }
}

/** How long the latest calls of one key took; calls that have not happened yet count as 0. */
class LatestCalls {
  readonly #took = new Float64Array(REMEMBERED)
  #oldest = 0

  /** Adds a call, and returns the shortest of the earlier ones. */
  note(took: number): number {
    const least = Math.min(...this.#took)
    this.#took[this.#oldest] = took
    this.#oldest = (this.#oldest + 1) % REMEMBERED
    return least
  }
}

/** How much processor time this process has used, all its threads together; microseconds. */
function processorTime(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  return userCPUTime + systemCPUTime
}

/** How much processor time the process had used at a moment. */
export interface Reading {
  readonly at: number
  readonly used: number
}

/** For so long a reading is used again. It differs from a new one by no more than what the process waited since. */
const READ_FOR = MILLISECOND / 4

/**
 * For how long this process stood still: it neither computed nor waited. To ask the system for the processor time takes as long as the rest of
 * a start.
 */
export class Standstills {
  readonly #now: () => number
  readonly #processorTime: () => number
  #last: Reading = { at: Number.NEGATIVE_INFINITY, used: 0 }

  /** @param now microseconds */
  constructor(now: () => number, processorTimeUsed = processorTime) {
    this.#now = now
    this.#processorTime = processorTimeUsed
  }

  /** A reading of now, or of just before. */
  lately(): Reading {
    const at = this.#now()
    if (at - this.#last.at >= READ_FOR) this.#last = { at, used: this.#processorTime() }
    return this.#last
  }

  /**
   * For how long the process stood still between `from` and `now`.
   *
   * @param reading of `from`, or of just before
   */
  since({ at, used }: Reading, from: number, now: number): number {
    return Math.min(now - from, now - at - (this.#processorTime() - used))
  }
}

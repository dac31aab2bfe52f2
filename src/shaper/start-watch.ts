/** Microseconds; less is the noise of looking. */
const NOTICEABLE = 100

/**
 * Finds out when a handler began, which is after the last look at the clock: the system may have taken the processor
 * away in between. Where that happened while the handler was being called, nobody can tell whether it was before its
 * first line or after it, so it counts as before. What a handler computes undisturbed is none of that.
 */
export class StartWatch {
  readonly #now: () => number
  readonly #switches = switches()
  readonly #calledAt: number

  /** Make it right before the call. */
  constructor(now: () => number) {
    this.#now = now
    this.#calledAt = now()
  }

  /** Ask right after the call: the latest time at which the handler can have begun. */
  get latestStart(): number {
    const now = this.#now()
    return now - this.#calledAt > NOTICEABLE && switches() > this.#switches ? now : this.#calledAt
  }
}

function switches(): number {
  return process.resourceUsage().involuntaryContextSwitches
}

import { MILLISECOND } from '../core/duration.ts'

/** So many of the latest calls say how long a handler takes before it first waits. */
const REMEMBERED = 16
/** Computing that is shorter counts as late: then nothing has to be guessed. */
const NOTICEABLE = MILLISECOND

/**
 * Finds out when the first statement of a handler can have run at the latest. The clock is read before the call and after
 * it; in between the system may have taken the processor away, and the engine may have compiled or collected, before the
 * first statement as well as after it. What each of the latest calls took at least is the handler's own computing,
 * which follows its first statement; the rest counts as before it.
 */
export class StartWatch {
  /** Calls that are still to come count as short. */
  readonly #took = new Float64Array(REMEMBERED)
  #oldest = 0

  /**
   * How late the first statement may have run after the call began. Once for each call.
   *
   * @param took from the call of the handler until it returned
   */
  possibleDelay(took: number): number {
    const own = took < NOTICEABLE ? 0 : Math.min(...this.#took)
    this.#took[this.#oldest] = took
    this.#oldest = (this.#oldest + 1) % REMEMBERED
    return own < NOTICEABLE ? took : Math.max(0, took - own)
  }
}

/** How much processor time this process has used, all its threads together; microseconds. */
export function processorTime(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  return userCPUTime + systemCPUTime
}

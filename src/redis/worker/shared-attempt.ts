import { Attempt } from '../../line/attempt.ts'

/** An attempt that departs by the store's clock and is timed by that of the process: the former may be moved. */
export class TimedAttempt<Data, Result> extends Attempt<Data, Result> {
  #startedAt = Number.POSITIVE_INFINITY

  /** By the clock of the process, in microseconds; Infinity: it has not started. */
  override get startedAt(): number {
    return this.#startedAt
  }

  /** It was started at the local time `at`. */
  begin(at: number): void {
    this.#startedAt = at
  }
}

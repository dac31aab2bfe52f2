import type { Clock } from '../core/clock.ts'
import type { Call } from '../line/attempt.ts'
import { areStartsWatched, publishDeparture, publishLateStart } from '../line/publish.ts'
import type { JobRecord } from './store/job-record.ts'
import type { Starts } from './store/starts.ts'

/** A start that the gate let through. Times are microseconds. */
export interface GatedStart {
  readonly slot: number
  /** When the gate was passed, shortly before the call of the handler. */
  readonly at: number
  /** What the start is measured against; known only while the diagnostics of starts have a subscriber. */
  readonly pace: ReturnType<Starts['pace']> | undefined
}

/**
 * The last check before every attempt. In one process nothing lies between the line and the handler, so the slot is
 * reserved in the tick in which the handler is called, with the clock read anew: an earlier handler may have blocked the
 * process. The caller must have a free handler, call it at once, and then call `started`, since a compilation, a collection
 * or another process may come between the reading of the clock and the handler's first statement.
 */
export class MemoryGate {
  readonly #name: string
  readonly #starts: Starts
  readonly #clock: Clock

  /** @param name the shaper's name, for diagnostics */
  constructor(name: string, starts: Starts, clock: Clock) {
    this.#name = name
    this.#starts = starts
    this.#clock = clock
  }

  pass(job: JobRecord): GatedStart {
    const pace = areStartsWatched() ? this.#starts.pace(job) : undefined
    const at = this.#clock.now()
    return { slot: this.#starts.gate(job, at), at, pace }
  }

  /**
   * Counts the next departure of the bucket from the latest time at which the handler can have begun, and returns that
   * time.
   */
  started(job: JobRecord, { slot, pace }: GatedStart, call: Call): number {
    const startedBy = this.#starts.began(job, slot, call)
    if (pace !== undefined) {
      publishDeparture(this.#name, job, pace, pace.due, startedBy)
      if (startedBy - pace.due > pace.tolerance) publishLateStart(this.#name, job)
    }
    return startedBy
  }
}

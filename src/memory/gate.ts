import type { Clock } from '../core/clock.ts'
import type { Backend, BackendJob, Call } from '../line/job.ts'

/** What the gate answers when it lets a job through; microseconds. */
export interface Passage {
  /** The slot that was reserved, and the time by then: the handler starts after it. */
  readonly slot: number
  readonly at: number
}

/**
 * The last check before a handler, around every attempt. In one process nothing lies between the line and the
 * handler, so the slot is reserved in the same tick in which the handler is called, with the clock read afresh: a
 * handler before it may have held the process up. The caller must have a free handler, and call it at once; then it
 * tells `left`, since a compilation, a collection or another process may have come between the look at the clock and the
 * first statement of the handler.
 */
export class Gate {
  readonly #backend: Backend
  readonly #clock: Clock

  constructor(backend: Backend, clock: Clock) {
    this.#backend = backend
    this.#clock = clock
  }

  pass(job: BackendJob): Passage {
    const at = this.#clock.now()
    return { slot: this.#backend.gate(job, at), at }
  }

  /**
   * The handler was called: the next departure of its bucket keeps away from the latest time at which it can have begun.
   * Answers that time.
   */
  left(job: BackendJob, { slot }: Passage, call: Call): number {
    return this.#backend.began(job, slot, call)
  }
}

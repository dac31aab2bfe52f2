import type { Backend, BackendJob } from '../backend/backend.ts'
import type { Clock } from '../core/clock.ts'

/** What the gate answers when it lets a job through; microseconds. */
export interface Passage {
  /** The slot that was reserved, and the instant at which the handler starts: at the slot or after it. */
  readonly slot: number
  readonly startsAt: number
}

/**
 * The last check before a handler, around every attempt. In one process nothing lies between the line and the
 * handler, so the slot is reserved in the same tick in which the handler is called, with the clock read afresh: a
 * handler before it may have held the process up. The caller must have a free handler, and call it at once.
 */
export class Gate {
  readonly #backend: Backend
  readonly #clock: Clock

  constructor(backend: Backend, clock: Clock) {
    this.#backend = backend
    this.#clock = clock
  }

  pass(job: BackendJob): Passage {
    const startsAt = this.#clock.now()
    return { slot: this.#backend.gate(job, startsAt), startsAt }
  }
}

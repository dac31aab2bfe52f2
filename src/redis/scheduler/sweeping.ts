import type { Clock } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'

const PERIOD = 2 * SECOND

/**
 * Removes deliveries that no job needs any more from the transport: every two seconds, and without a pause while it finds some.
 */
export class Sweeping {
  readonly #sweep: (() => Promise<number>) | undefined
  readonly #clock: Clock
  #nextAt = Number.NEGATIVE_INFINITY

  /** @param sweep does a bounded piece of it; returns how much it removed */
  constructor(sweep: (() => Promise<number>) | undefined, clock: Clock) {
    this.#sweep = sweep
    this.#clock = clock
  }

  /** Does one piece, if one is due. */
  async goOn(): Promise<void> {
    if (this.#sweep === undefined || this.#clock.now() < this.#nextAt) return
    this.#nextAt = this.#clock.now() + PERIOD
    if ((await this.#sweep()) > 0) this.#nextAt = this.#clock.now()
  }
}

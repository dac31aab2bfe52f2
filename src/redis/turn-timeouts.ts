import type { Clock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { TRAVEL } from './scripts/prelude.ts'
import type { NamedRequest } from './verbs/admit-calls.ts'

/** Beyond TRAVEL, the time that the line allows a turn that must come at once: a while for the answer. */
const GRACE = 100 * MILLISECOND
/** These timers may be late. */
export const COARSE = Number.POSITIVE_INFINITY

/** Ends the wait for turns whose deadline has passed while the line could not say so. */
export class TurnTimeouts {
  readonly #clock: Clock
  readonly #onOver: (id: string) => void
  /** By id, functions that cancel a timeout. */
  readonly #cancels = new Map<string, () => void>()

  constructor(clock: Clock, onOver: (id: string) => void) {
    this.#clock = clock
    this.#onOver = onOver
  }

  /** Without a deadline a turn has no timeout. */
  start({ id, deadline }: NamedRequest): void {
    if (deadline === Number.POSITIVE_INFINITY) return
    const at = this.#clock.now() + Math.max(deadline, TRAVEL) + GRACE
    const cancel = this.#clock.wake(at, () => this.#onOver(id), COARSE)
    this.#cancels.set(id, cancel)
  }

  cancel(id: string): void {
    this.#cancels.get(id)?.()
    this.#cancels.delete(id)
  }
}

import type { Clock } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'

/** Jobs are handed over well before their slots, so a timer may be as late as timers are. */
const SLACK = 10 * MILLISECOND

/** Wakes one sleeper: at a time, or when it rings. Ringing while nobody sleeps wakes the next sleeper at once. */
export class Alarm {
  readonly #clock: Clock
  #isRung = false
  #wakeUp: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  ring(): void {
    this.#isRung = true
    this.#wakeUp?.()
  }

  /** What rang before this is known by now. */
  reset(): void {
    this.#isRung = false
  }

  /** Resolves at `until` (microseconds, as the clock counts; Infinity: never) or when it rings. */
  sleep(until: number): Promise<void> {
    if (this.#isRung || until <= this.#clock.now()) return Promise.resolve()
    return new Promise((resolve) => {
      const disarm = until === Number.POSITIVE_INFINITY ? undefined : this.#clock.wake(until, wakeUp, SLACK)
      function wakeUp(): void {
        disarm?.()
        resolve()
      }
      this.#wakeUp = wakeUp
    })
  }
}

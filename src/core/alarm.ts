import type { Clock } from './clock.ts'

/** Wakes one sleeper: at a time, or when it rings. A ring while nothing sleeps ends the next sleep at once. */
export class Alarm {
  readonly #clock: Clock
  readonly #slack: number
  #isRung = false
  #wakeUp: (() => void) | undefined

  /** @param slack by how many microseconds a sleep may be too long without harm */
  constructor(clock: Clock, slack: number) {
    this.#clock = clock
    this.#slack = slack
  }

  ring(): void {
    this.#isRung = true
    this.#wakeUp?.()
  }

  /** Forgets the rings before this call. */
  reset(): void {
    this.#isRung = false
  }

  /** Resolves at `until` (microseconds, as the clock counts; Infinity: never) or when it rings. */
  sleep(until: number): Promise<void> {
    if (this.#isRung || until <= this.#clock.now()) return Promise.resolve()
    return new Promise((resolve) => {
      const disarm =
        until === Number.POSITIVE_INFINITY ? undefined : this.#clock.wake(until, wakeUp, this.#slack)
      function wakeUp(): void {
        disarm?.()
        resolve()
      }
      this.#wakeUp = wakeUp
    })
  }
}

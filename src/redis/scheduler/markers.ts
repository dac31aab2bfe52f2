import type { Alarm } from '../../core/alarm.ts'
import { SECOND } from '../../core/duration.ts'
import type { Wakes } from '../transport/wakes.ts'

/** For so long a wake may stall the shard that went to a scheduler which has just died. */
const LONGEST_WAIT = 1.5 * SECOND

export interface MarkersPorts {
  readonly wakes: Pick<Wakes, 'next'>
  readonly shard: number
  readonly alarm: Alarm
  readonly onError: (error: unknown) => void
}

/**
 * Waits for the markers that the store leaves for schedulers, and rings the alarm. A marker wakes one who waits, so the
 * elected scheduler waits for wakes alone, and the others for a vacancy alone. One wait goes on over many naps: the
 * store's own timing is too coarse to wake anybody for a departure.
 */
export class Markers {
  readonly #ports: MarkersPorts
  #isWaiting = false
  #failures = 0

  constructor(ports: MarkersPorts) {
    this.#ports = ports
  }

  /** Waits that failed in a row. */
  get failures(): number {
    return this.#failures
  }

  /** Unless it waits already. */
  awaitWake(): void {
    this.#await(({ wakes, shard }) => wakes.next(shard, 'wake', LONGEST_WAIT))
  }

  /** Unless it waits already. @param atMost microseconds; by then the caller asks by itself */
  awaitVacancy(atMost: number): void {
    this.#await(({ wakes, shard }) => wakes.next(shard, 'vacancy', Math.min(atMost, LONGEST_WAIT)))
  }

  #await(wait: (ports: MarkersPorts) => Promise<void>): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    wait(this.#ports).then(
      () => this.#heard(0),
      (thrown: unknown) => {
        this.#ports.onError(thrown)
        this.#heard(this.#failures + 1)
      },
    )
  }

  #heard(failures: number): void {
    this.#isWaiting = false
    this.#failures = failures
    this.#ports.alarm.ring()
  }
}

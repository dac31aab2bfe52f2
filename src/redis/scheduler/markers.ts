import type { Alarm } from '../../core/alarm.ts'
import { SECOND } from '../../core/duration.ts'
import type { Wakes } from '../transport/wakes.ts'

/** How long a shard may stall when a wake went to a scheduler that has just died. */
const LONGEST_WAIT = 1.5 * SECOND

export interface MarkersPorts {
  readonly wakes: Pick<Wakes, 'next'>
  readonly shard: number
  readonly alarm: Alarm
  readonly onError: (error: unknown) => void
}

/**
 * Waits for the markers that the store leaves for schedulers, and rings the alarm. A marker wakes only one of the waiting
 * processes, so the elected scheduler waits only for wakes, and the others only for a vacancy. One wait goes on over many
 * sleeps: its timing in the store is too coarse for a departure.
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

  /** Waits for a wake, unless a wait is under way. */
  awaitWake(): void {
    this.#await(({ wakes, shard }) => wakes.next(shard, 'wake', LONGEST_WAIT))
  }

  /** Waits for a vacancy, unless a wait is under way. @param atMost microseconds; by then the caller claims by itself */
  awaitVacancy(atMost: number): void {
    this.#await(({ wakes, shard }) => wakes.next(shard, 'vacancy', Math.min(atMost, LONGEST_WAIT)))
  }

  #await(wait: (ports: MarkersPorts) => Promise<void>): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    wait(this.#ports).then(
      () => this.#ended(0),
      (thrown: unknown) => {
        this.#ports.onError(thrown)
        this.#ended(this.#failures + 1)
      },
    )
  }

  #ended(failures: number): void {
    this.#isWaiting = false
    this.#failures = failures
    this.#ports.alarm.ring()
  }
}

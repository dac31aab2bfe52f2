import { MILLISECOND, SECOND } from '../../core/duration.ts'
import type { ClockSample } from '../slots/offset.ts'

/** What lies between two readings beyond the time that passed: a step of the store's clock, and the time on the way. */
const LONGEST_UNEXPLAINED = 250 * MILLISECOND
/**
 * Workers renew within this time each lease that is so short that a step can end it: a longer one has two seconds left at any
 * moment, and a step that is longer than that counts as a silence.
 */
const RENEWED_WITHIN = 1.2 * SECOND

/**
 * Up to which time of the store leases have surely ended. Where its clock is set forward, the leases of workers that live look as
 * if they had ended, until they are renewed by the new time. So a reading of that clock counts at once only if the clock of this
 * process confirms the time since the reading before it; any other, and the first of all, counts a little later.
 */
export class TrustedTime {
  #last: ClockSample | undefined
  /** The first reading that does not count yet, and the last one that was not confirmed. */
  #doubted: ClockSample | undefined
  #unconfirmed: ClockSample | undefined
  #until = 0

  /** Microseconds, as the store counts; 0: none has surely ended. */
  get until(): number {
    return this.#until
  }

  observe(sample: ClockSample): void {
    if (!this.#isConfirmed(sample)) {
      this.#unconfirmed = sample
      this.#doubted ??= sample
    }
    if (this.#doubted !== undefined && isOld(this.#doubted, sample)) {
      this.#until = this.#doubted.storeTime
      this.#doubted = isOld(this.#unconfirmed!, sample) ? undefined : this.#unconfirmed
    }
    if (this.#doubted === undefined) this.#until = sample.storeTime
    // The clock may have been set back.
    this.#until = Math.min(this.#until, sample.storeTime)
    this.#last = sample
  }

  #isConfirmed({ sentAt, storeTime }: ClockSample): boolean {
    if (this.#last === undefined) return false
    return storeTime - this.#last.storeTime - (sentAt - this.#last.receivedAt) <= LONGEST_UNEXPLAINED
  }
}

function isOld({ receivedAt }: ClockSample, { sentAt }: ClockSample): boolean {
  return sentAt - receivedAt >= RENEWED_WITHIN
}

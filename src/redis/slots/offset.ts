import { MILLISECOND } from '../../core/duration.ts'

/** How fast two synchronized clocks may drift apart, as a share: an NTP client slews by no more. */
export const DRIFT = 500e-6
/** How fast the offset follows: faster than clocks drift, and no gap is shortened by more than a thousandth. */
const SLEW = 1e-3
/** A process that is further ahead would ask for slots that have passed, and miss them until it is slewed; further behind, it starts late. */
const LARGEST_SLEW = MILLISECOND

/** One reading of the store's clock between two readings of the local clock. Microseconds. */
export interface ClockSample {
  readonly sentAt: number
  readonly receivedAt: number
  readonly storeTime: number
}

/** How far a clock may be ahead of the store's, and how far behind it. Neither is negative. Microseconds. */
export interface ClockError {
  readonly ahead: number
  readonly behind: number
}

/** What one sample said: at `at` the offset was within `offset ± bound`, and later within more, by the drift. */
interface Estimate {
  readonly offset: number
  readonly bound: number
  readonly at: number
}

/**
 * By how much the store's clock is ahead of the local one. It follows the sample with the smallest bound by now, which is the
 * one of the shortest round trip unless that is old. It is slewed, since a step forwards shortens a gap between two starts. Where a
 * sample shows that it is far off, it steps: backwards that only makes starts later, and forwards by no more than it was counted to be
 * behind all along, by which starts before were reported later.
 */
export class Offset {
  #best: Estimate
  /** The offset in use at `#since`, on its way to that of the best estimate. */
  #from: number
  #since: number
  /** The largest offset to which it may step at `#since`, and more later, by the slew: earlier starts were reported as late as that allows. */
  #most = Number.POSITIVE_INFINITY

  constructor(first: ClockSample) {
    this.#best = estimateOf(first)
    this.#from = this.#best.offset
    this.#since = first.receivedAt
  }

  at(now: number): number {
    const most = Math.max(0, now - this.#since) * SLEW
    return this.#from + clamp(this.#best.offset - this.#from, -most, most)
  }

  /** The largest errors of `at`. What is not slewed yet lies on one side, and takes from the other. */
  errorAt(now: number): ClockError {
    const bound = boundAt(this.#best, now)
    const unslewed = this.#best.offset - this.at(now)
    return { ahead: Math.max(0, bound - unslewed), behind: Math.max(0, bound + unslewed) }
  }

  /**
   * How far the sample is from the estimate, beyond what both round trips and drift explain. Where `least` is not 0, one of
   * the clocks was stepped: by `least` at least, by `most` at most.
   */
  unexplained(sample: ClockSample): { readonly least: number; readonly most: number } {
    const estimate = estimateOf(sample)
    const bound = boundAt(this.#best, sample.receivedAt)
    const least = distance(this.#best.offset, bound, estimate)
    return { least, most: least + 2 * Math.sign(least) * (bound + estimate.bound) }
  }

  add(sample: ClockSample): void {
    const estimate = estimateOf(sample)
    const now = sample.receivedAt
    const best = boundAt(this.#best, now)
    const isRefuted = distance(this.#best.offset, best, estimate) !== 0
    if (!isRefuted && boundAt(estimate, now) >= best) return
    const inUse = this.at(now)
    const isFarOff = Math.abs(inUse - estimate.offset) > estimate.bound + LARGEST_SLEW
    this.#most = Math.min(this.#most + Math.max(0, now - this.#since) * SLEW, this.#best.offset + best)
    this.#from = isFarOff ? Math.min(estimate.offset, this.#most) : inUse
    this.#since = now
    this.#best = estimate
  }

  /** Takes on the best estimate at once: nothing relies on the offset yet, so it need not be slewed. */
  step(): void {
    this.#from = this.#best.offset
    this.#most = Number.POSITIVE_INFINITY
  }
}

function estimateOf({ sentAt, receivedAt, storeTime }: ClockSample): Estimate {
  return {
    offset: storeTime - (sentAt + receivedAt) / 2,
    bound: (receivedAt - sentAt) / 2,
    at: sentAt,
  }
}

function boundAt({ bound, at }: Estimate, now: number): number {
  return bound + Math.max(0, now - at) * DRIFT
}

/** The gap between two intervals, `estimate` as seen from `offset ± bound`; 0 where they meet. */
function distance(offset: number, bound: number, estimate: Estimate): number {
  const ahead = estimate.offset - offset
  const explained = bound + estimate.bound
  return ahead - clamp(ahead, -explained, explained)
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

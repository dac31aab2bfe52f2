import { MILLISECOND } from '../../core/duration.ts'

/** By how much two clocks that are kept in time may drift apart, as a share: an NTP client slews by no more. */
const DRIFT = 500e-6
/** How fast the offset follows: faster than clocks drift, and no gap is shortened by more than a thousandth. */
const SLEW = 1e-3
/** Whoever is ahead by more asks for slots that have passed, and would miss them as long as he is. */
const LARGEST_SLEW_BACK = MILLISECOND

/** One reading of the store's clock, which fell between two readings of our own. Microseconds. */
export interface ClockSample {
  readonly sentAt: number
  readonly receivedAt: number
  readonly storeTime: number
}

/** What one sample said: at `at` the offset was within `offset ± bound`, and later within more, by the drift. */
interface Estimate {
  readonly offset: number
  readonly bound: number
  readonly at: number
}

/**
 * By how much the store's clock is ahead of ours. It follows the sample whose bound is the smallest by now, that is
 * the one of the shortest round trip unless it has become old: slewed forwards, since a step would shorten a gap
 * between two starts; backwards at once where a sample leaves no doubt, since that only makes starts later.
 */
export class Offset {
  #best: Estimate
  /** The offset in use at `#since`, on its way to that of the best estimate. */
  #from: number
  #since: number

  constructor(first: ClockSample) {
    this.#best = estimateOf(first)
    this.#from = this.#best.offset
    this.#since = first.receivedAt
  }

  at(now: number): number {
    const most = Math.max(0, now - this.#since) * SLEW
    return this.#from + clamp(this.#best.offset - this.#from, -most, most)
  }

  /** How far from the truth `at` may be. */
  errorAt(now: number): number {
    return boundAt(this.#best, now) + Math.abs(this.#best.offset - this.at(now))
  }

  /**
   * How far the sample is from what is known, beyond what its round trip, the best one and drift explain: by so much at
   * least one of the clocks was stepped, and by `most` at most.
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
    const isSurelyAhead = inUse - estimate.offset > estimate.bound + LARGEST_SLEW_BACK
    this.#from = isSurelyAhead ? estimate.offset : inUse
    this.#since = now
    this.#best = estimate
  }

  /** While nobody relies on it, it need not be slewed. */
  step(): void {
    this.#from = this.#best.offset
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

import type { Limit } from '../core/limit.ts'

/**
 * How warm a bucket can be, inferred from its starts. The warmth is a time: under load it grows by the intervals of
 * departures, up to the limit's `warmUp`, and time without a departure reduces it again. A cost unit takes the cold
 * interval at 0 and the normal interval at `warmUp`, and linearly between.
 *
 * A start may be up to the tolerance behind its slot, so two numbers are tracked: `warmest`, which no bucket that keeps
 * the law exceeds, and `likely`, as if every start were on its slot.
 */
export class Warming {
  #at = Number.NEGATIVE_INFINITY
  #cost = 0
  #warmest: number
  #likely = 0
  /** The upper bound of the likely warmth at the next start, set by the previous limit or by a freeze. */
  #most = Number.POSITIVE_INFINITY
  /** Something happened since the last start that the starts do not show. */
  #isDoubtful = false
  /** Starts from then on know of a freeze: the bucket is cold. */
  #coldFrom: number | undefined

  /**
   * @param isMidway the history before the first start is unknown
   */
  constructor(isMidway: boolean) {
    this.#warmest = isMidway ? Number.POSITIVE_INFINITY : 0
  }

  /** The earliest allowed next start. A bucket that is idle is not deleted before it is cold. */
  earliest(limit: Limit): number {
    if (limit.warmUp === 0 || this.#isDoubtful) return Number.NEGATIVE_INFINITY
    return this.#at + timeOf(limit, this.#warmest, this.#cost) - limit.tolerance
  }

  /** The most likely time from the last start until the next is due. */
  due(limit: Limit): number {
    return timeOf(limit, this.#likely, this.#cost)
  }

  /** Whether it has its full rate now and had it at its last start, so that only the interval counts. */
  isWarm(limit: Limit, at: number): boolean {
    const enough = limit.warmUp - limit.tolerance
    if (limit.warmUp === 0) return true
    if (this.#likely < enough || this.#coldFrom !== undefined) return false
    return this.#likelyAt(at, limit) >= enough
  }

  /**
   * @param limits the limits that may be in force, the newest first
   */
  take({ at, cost }: { readonly at: number; readonly cost: number }, limits: readonly Limit[]): void {
    const [newest] = limits
    if (newest === undefined) return
    if (this.#cost > 0) this.#warmest = this.#warmestAt(at, limits)
    this.#likely = this.#likelyAt(at, newest)
    this.#most = Number.POSITIVE_INFINITY
    if (this.#coldFrom !== undefined) this.#chill(at >= this.#coldFrom)
    this.#isDoubtful = false
    this.#at = at
    this.#cost = cost
  }

  /** The bucket was frozen. Starts before `coldFrom` may not know of it. */
  freeze(coldFrom: number): void {
    this.#coldFrom = coldFrom
  }

  /**
   * `old` was in force until `at`. Another limit makes the bucket warmer than the starts show, and likely no warmer
   * than it was.
   */
  replaceLimit(old: Limit, at: number): void {
    this.#most = this.#likelyAt(at, old)
    this.doubt()
  }

  /** Something happened that makes it warmer than the starts show: another limit, or a start that was not observed. */
  doubt(): void {
    if (this.#coldFrom !== undefined) this.#most = 0
    this.#coldFrom = undefined
    this.#warmest = Number.POSITIVE_INFINITY
    this.#isDoubtful = true
  }

  /** The warmth under the limit that leaves it warmest; limits without a warm-up say nothing. */
  #warmestAt(at: number, limits: readonly Limit[]): number {
    const gap = at - this.#at
    let warmest: number | undefined
    for (const limit of limits) {
      if (limit.warmUp === 0) continue
      const longest = timeOf(limit, 0, this.#cost)
      const idle = this.#isDoubtful ? 0 : Math.max(0, gap - limit.tolerance - longest)
      warmest = Math.max(warmest ?? 0, after(limit, this.#warmest, this.#cost, idle))
    }
    return warmest ?? this.#warmest
  }

  #likelyAt(at: number, limit: Limit): number {
    const idle = Math.max(0, at - this.#at - this.due(limit))
    return after(limit, this.#likely, this.#cost, idle, this.#most)
  }

  #chill(isKnown: boolean): void {
    this.#likely = 0
    if (isKnown) this.#warmest = 0
    this.#coldFrom = undefined
  }
}

/** Microseconds by which promises of a warm bucket may be off, because a start within the tolerance may cool it. */
export function slackOf(limit: Limit): number {
  return limit.warmUp === 0 ? 0 : timeOf(limit, limit.warmUp - 2 * limit.tolerance, 1) - limit.interval
}

/** The time that the units take, one after the other, from warmth `from` on. */
function timeOf({ interval, coldInterval, warmUp }: Limit, from: number, units: number): number {
  let warmth = from
  let time = 0
  let left = units
  for (; left > 0 && warmth < warmUp; left--) {
    const step = coldInterval + ((interval - coldInterval) * Math.max(0, warmth)) / warmUp
    time += step
    warmth += step
  }
  return time + interval * left
}

function after(limit: Limit, warmth: number, cost: number, idle: number, most = limit.warmUp): number {
  const { warmUp } = limit
  const ahead = Math.min(warmUp, warmth)
  return Math.max(0, Math.min(most, warmUp, ahead + timeOf(limit, ahead, cost)) - idle)
}

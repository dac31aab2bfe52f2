import type { Limit } from '../core/limit.ts'

/**
 * How warm a bucket can be, as far as its starts tell. The warmth is time: under load it grows by what departures take,
 * up to the limit's `warmUp`, and time without a departure takes it away again. A cost unit takes the cold interval at
 * 0 and the interval itself at `warmUp`, and on the straight line between them otherwise.
 *
 * A start may lie up to the tolerance behind the slot that it was counted from, so two numbers are followed: `warmest`,
 * which no bucket that keeps the law exceeds, and `likely`, as if every start were on its slot.
 */
export class Warming {
  #at = Number.NEGATIVE_INFINITY
  #cost = 0
  #warmest: number
  #likely = 0
  /** The likely warmth at the next start is no more than that: the limit before let it be no warmer, or a freeze. */
  #most = Number.POSITIVE_INFINITY
  /** Since the last start something happened that the starts do not tell of. */
  #isDoubtful = false
  /** Whoever starts from then on has heard of a freeze, and is cold. */
  #coldFrom: number | undefined

  /** @param isMidway nobody knows what was before the first start */
  constructor(isMidway: boolean) {
    this.#warmest = isMidway ? Number.POSITIVE_INFINITY : 0
  }

  /** Before that, no next start: a bucket that is idle is not forgotten before it is cold. */
  earliest(limit: Limit): number {
    if (limit.warmUp === 0 || this.#isDoubtful) return Number.NEGATIVE_INFINITY
    return this.#at + timeOf(limit, this.#warmest, this.#cost) - limit.tolerance
  }

  /** What the last start most likely takes until the next one is due. */
  due(limit: Limit): number {
    return timeOf(limit, this.#likely, this.#cost)
  }

  /** Whether it has its full rate, and had it at its last start, so that nothing but the interval counts. */
  isWarm(limit: Limit, at: number): boolean {
    const enough = limit.warmUp - limit.tolerance
    if (limit.warmUp === 0) return true
    if (this.#likely < enough || this.#coldFrom !== undefined) return false
    return this.#likelyAt(at, limit) >= enough
  }

  /** @param limits those that may be in force, the newest first */
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

  /** The other side said that it was too much. Whoever starts before `coldFrom` may not have heard of it. */
  freeze(coldFrom: number): void {
    this.#coldFrom = coldFrom
  }

  /** `old` governed until `at`: another limit makes it warmer than the starts tell, and likely no warmer than it was. */
  replaceLimit(old: Limit, at: number): void {
    this.#most = this.#likelyAt(at, old)
    this.doubt()
  }

  /** Something happened that makes it warmer than the starts tell: another limit, or a start that nobody saw. */
  doubt(): void {
    if (this.#coldFrom !== undefined) this.#most = 0
    this.#coldFrom = undefined
    this.#warmest = Number.POSITIVE_INFINITY
    this.#isDoubtful = true
  }

  /** Under the one of `limits` that leaves it warmest; those without a warm-up tell nothing. */
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

  #chill(isHeard: boolean): void {
    this.#likely = 0
    if (isHeard) this.#warmest = 0
    this.#coldFrom = undefined
  }
}

/** Microseconds by which promises of a warm bucket may be off, since a start within the tolerance may cool it. */
export function slackOf(limit: Limit): number {
  return limit.warmUp === 0 ? 0 : timeOf(limit, limit.warmUp - 2 * limit.tolerance, 1) - limit.interval
}

/** What the units take, one after the other, from `warmth` on. */
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

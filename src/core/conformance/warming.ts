import type { Limit } from '../limit.ts'

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
    return after(limit, this.#likely, this.#cost, Math.max(0, at - this.#at - this.due(limit))) >= enough
  }

  take({ at, cost }: { readonly at: number; readonly cost: number }, limit: Limit): void {
    if (limit.warmUp > 0 && this.#cost > 0) {
      const gap = at - this.#at
      const longest = timeOf(limit, 0, this.#cost)
      const idle = this.#isDoubtful ? 0 : Math.max(0, gap - limit.tolerance - longest)
      this.#warmest = after(limit, this.#warmest, this.#cost, idle)
      this.#likely = after(limit, this.#likely, this.#cost, Math.max(0, gap - this.due(limit)))
    }
    if (this.#coldFrom !== undefined) this.#chill(at >= this.#coldFrom)
    this.#isDoubtful = false
    this.#at = at
    this.#cost = cost
  }

  /** The other side said that it was too much. Whoever starts before `coldFrom` may not have heard of it. */
  freeze(coldFrom: number): void {
    this.#coldFrom = coldFrom
  }

  /** Something happened that makes it warmer than the starts tell: another limit, or a start that nobody saw. */
  doubt(): void {
    if (this.#coldFrom !== undefined) this.#chill(false)
    this.#warmest = Number.POSITIVE_INFINITY
    this.#isDoubtful = true
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

function after(limit: Limit, warmth: number, cost: number, idle: number): number {
  const { warmUp } = limit
  const ahead = Math.min(warmUp, warmth)
  return Math.max(0, Math.min(warmUp, ahead + timeOf(limit, ahead, cost)) - idle)
}

import type { Limit } from '../core/limit.ts'

/** Microseconds allowed for rounding: at the present epoch doubles step by 0.25. */
export const ROUNDING = 1

/**
 * The Generic Cell Rate Algorithm of ITU-T I.371, counted over starts of cost units. With the theoretical arrival time
 * TAT, a start at `a` with cost `c` conforms if `a >= TAT - tolerance`, and then `TAT = max(a, TAT) + interval x c`. It
 * follows that any window W holds at most `1 + (W + tolerance) / interval` conforming starts of cost 1. As in the
 * standard, a start that does not conform leaves the TAT unchanged, so that one early start is one breach.
 *
 * TAT is stored as its distance from the last start (the standard's continuous-state form): added to times since the
 * epoch, an interval would be rounded to quarters of a microsecond, a million times over.
 */
export class Gcra {
  #from = Number.NEGATIVE_INFINITY
  #id = ''
  #cost = 0
  /**
   * How far the last start was ahead of its own TAT: the used part of the tolerance. Once its cost is forgotten, how far
   * it was ahead of the next one's.
   */
  #excess = 0
  /** The tolerance that `#excess` was measured against. */
  #tolerance = 0

  /** Starts were seen and have been forgotten: a backend may still count from the last of them, or from nothing. */
  isForgotten = false

  /** The last conforming start. */
  get last(): { readonly at: number; readonly id: string } {
    return { at: this.#from, id: this.#id }
  }

  /** The TAT of the next start. */
  due(limit: Limit): number {
    return this.#from + this.#distance(limit)
  }

  /** The least time from the last start to the next one. */
  leastGap(limit: Limit): number {
    return this.#distance(limit) - limit.tolerance
  }

  /** Counts a start that conforms to one of `limits`. */
  take(start: { at: number; id: string; cost: number }, limits: readonly Limit[]): void {
    const gap = start.at - this.#from
    const limit = mostLenient(this, limits)
    if (limit === undefined || gap < this.leastGap(limit) - ROUNDING) return
    this.#excess = Math.max(0, this.#distance(limit) - gap)
    this.#tolerance = limit.tolerance
    this.#from = start.at
    this.#id = start.id
    this.#cost = start.cost
    this.isForgotten = false
  }

  /**
   * Forgets what the last start cost: a limit that comes later counts from nothing. The TAT under `limit` stays. A start
   * that was early used its tolerance up, and a bucket that was idle for a moment must not get it again.
   */
  forget(limit: Limit): void {
    this.isForgotten ||= this.#cost > 0
    this.#excess = this.#distance(limit)
    this.#tolerance = limit.tolerance
    this.#cost = 0
  }

  /**
   * The distance from the last start to the TAT under `limit`. A limit that replaced another counts from the same
   * start; what the old tolerance allowed and the new one would not was no breach then, and is not counted as one now.
   */
  #distance(limit: Limit): number {
    const forgiven = Math.max(0, this.#tolerance - limit.tolerance)
    return Math.max(0, this.#excess - forgiven) + limit.interval * this.#cost
  }
}

/** Returns the limit in force that allows the earliest next start. */
export function mostLenient(gcra: Gcra, limits: readonly Limit[]): Limit | undefined {
  let lenient: Limit | undefined
  for (const limit of limits) {
    if (lenient === undefined || gcra.leastGap(limit) < gcra.leastGap(lenient)) lenient = limit
  }
  return lenient
}

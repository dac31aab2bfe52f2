import { expect } from 'vitest'
import type { Limit } from '../../src/core/limit.ts'

/** How far the starts of each key are apart, as the limits that were in force allow it. */
export class TraceSpacing {
  readonly #limits: { readonly from: number; readonly limit: Limit }[] = []
  /** By key. */
  readonly #lastStarts = new Map<string, { readonly at: number; readonly cost: number }>()

  /** A limit of all keys, from now on. */
  setLimit(limit: Limit, now: number): void {
    this.#forgetPassed(now)
    this.#limits.push({ from: now, limit })
  }

  /**
   * A job starts: after the start before it, by a limit that was in force when it was granted its slot, or since.
   *
   * @param since when it was granted its slot
   */
  start(
    job: { readonly id: string; readonly key: string; readonly cost: number },
    since: number,
    now: number,
  ): void {
    const { id, key, cost } = job
    const before = this.#lastStarts.get(key)
    this.#lastStarts.set(key, { at: now, cost })
    if (before === undefined) return
    const limits = this.#limits.filter((_, index) => (this.#limits[index + 1]?.from ?? now) >= since)
    const gaps = limits.map(({ limit }) => limit.interval * before.cost - limit.tolerance)
    expect(now - before.at, `gap before ${id}`).toBeGreaterThanOrEqual(Math.min(...gaps) - 1)
  }

  /** A bucket that was idle is forgotten once its next departure has passed: then a later limit counts from nothing. */
  #forgetPassed(now: number): void {
    const last = this.#limits.at(-1)
    if (last === undefined) return
    for (const [key, { at, cost }] of this.#lastStarts) {
      if (at + last.limit.interval * cost <= now) this.#lastStarts.delete(key)
    }
  }
}

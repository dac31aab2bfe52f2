import type { Limit } from '../core/limit.ts'
import type { Quota } from '../core/quota.ts'
import type { Costs } from '../core/usage.ts'
import { type Charge, QuotaCount, type View } from './quota-count.ts'

/** A start or a job as quotas see it. */
interface Counting {
  readonly cost: number
  readonly costs?: Costs
}

/** A start that a quota has no room for. */
export interface Excess {
  readonly quota: Quota
  readonly used: number
  readonly units: number
}

interface Part {
  readonly quota: Quota
  readonly count: QuotaCount
}

/** The quotas of a key, and what counts in them, through all changes of its limit. */
export class QuotaBook {
  readonly #view: View
  /** Of each limit that may be in force, in the order of its quotas. */
  readonly #parts = new Map<Limit, readonly Part[]>()

  constructor(view: View) {
    this.#view = view
  }

  /**
   * `limit` follows the first of `inForce`, which may all be in force until `until`. A quota goes on from one with the same window
   * and unit, otherwise from the one of its unit that looks back farthest, and knows what that one counts; otherwise nothing.
   */
  replaceLimit(limit: Limit, inForce: readonly Limit[], until: number): void {
    if (limit.quotas.length === 0 && this.#parts.size === 0) return
    this.#keep(inForce)
    const [before] = inForce
    const predecessors = (before && this.#parts.get(before)) ?? []
    const parts = limit.quotas.map((quota) => {
      const ofUnit = predecessors.filter((part) => part.quota.unit === quota.unit)
      const same = ofUnit.find((part) => isSameWindow(part.quota, quota))
      if (same !== undefined) return { quota, count: same.count }
      const [longest] = ofUnit.sort((a, b) => lengthOf(b.quota) - lengthOf(a.quota))
      if (longest !== undefined) return { quota, count: longest.count.followedBy(quota, until) }
      const knownFrom = before === undefined ? Number.NEGATIVE_INFINITY : until
      return { quota, count: new QuotaCount(quota, this.#view, knownFrom) }
    })
    this.#parts.set(limit, parts)
  }

  /** Returns what forbids a start under the limit at that time, if something does. */
  excess(limit: Limit, job: Counting, readAt: number, at: number): Excess | undefined {
    for (const { quota, count } of this.#parts.get(limit) ?? []) {
      const units = unitsIn(quota, job)
      const used = count.used(readAt, at)
      // A job above the whole amount, which was lowered after the job was accepted, may start alone.
      if (used > 0 && used + units > quota.amount) return { quota, used, units }
    }
    return undefined
  }

  /**
   * Counts a start, under the limits that may be in force. Where they say different things of a job that names no units, the least
   * counts.
   */
  start(job: Counting, charge: Charge, limits: readonly Limit[]): void {
    if (this.#parts.size === 0) return
    this.#keep(limits)
    const counts = new Map<QuotaCount, number>()
    for (const parts of this.#parts.values()) {
      for (const { quota, count } of parts) {
        const units = unitsIn(quota, job)
        counts.set(count, Math.min(units, counts.get(count) ?? units))
      }
    }
    for (const [count, units] of counts) count.add(charge, units)
  }

  /** Counts what an attempt really used, instead of its estimate. */
  settle(charge: Charge, amounts: Costs, at: number): void {
    for (const counted of charge.parts) {
      const { unit } = counted.count.quota
      const units = unit === undefined ? undefined : amounts[unit]
      if (units !== undefined) counted.count.settle(counted, units, at)
    }
  }

  /** Forgets the limits that are no longer in force. */
  #keep(inForce: readonly Limit[]): void {
    for (const limit of this.#parts.keys()) if (!inForce.includes(limit)) this.#parts.delete(limit)
  }
}

/** Returns what the job counts in the quota: an estimate until it is settled. */
export function unitsIn({ unit, each = 0 }: Quota, { cost, costs }: Counting): number {
  return unit === undefined ? cost : (costs?.[unit] ?? each)
}

function isSameWindow({ window: a }: Quota, { window: b }: Quota): boolean {
  if ('length' in a) return 'length' in b && a.length === b.length
  return !('length' in b) && a.period === b.period && a.zone === b.zone
}

const HOUR = 3_600_000_000
const LENGTHS = { hour: HOUR, day: 24 * HOUR, week: 7 * 24 * HOUR } as const

function lengthOf({ window }: Quota): number {
  return 'length' in window ? window.length : LENGTHS[window.period]
}

import { periodAround } from '../core/calendar.ts'
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

/** A quota that was removed from its limit. Earlier starts count in it until its window is over. */
interface Past extends Part {
  readonly until: number
}

/** The quotas of a key, and what counts in them, through all changes of its limit. */
export class QuotaBook {
  readonly #view: View
  /** Of each limit that may be in force, in the order of its quotas. */
  readonly #parts = new Map<Limit, readonly Part[]>()
  #past: readonly Past[] = []

  constructor(view: View) {
    this.#view = view
  }

  /**
   * `limit` follows the first of `inForce`, between `from` and `to`: until then they may all be in force. A quota goes on from one with
   * the same window and unit, otherwise from the one of its unit that looks back farthest, and knows what that one counts; otherwise
   * nothing. One that is remembered is known as well as one in force.
   */
  replaceLimit(limit: Limit, inForce: readonly Limit[], from: number, to: number): void {
    if (limit.quotas.length === 0 && this.#parts.size === 0 && this.#past.length === 0) return
    this.#keep(inForce)
    // What counts more for an observer is known for longer.
    const [begin, now] = this.#view.late === 'greater' ? [from, to] : [to, from]
    this.#forget(now, now)
    const [before] = inForce
    const current = (before && this.#parts.get(before)) ?? []
    const known: readonly Part[] = [...current, ...this.#past]
    const parts = limit.quotas.map((quota) => {
      const ofUnit = known.filter((part) => part.quota.unit === quota.unit)
      const same = ofUnit.find((part) => isSameWindow(part.quota, quota))
      if (same !== undefined) return { quota, count: same.count }
      const [longest] = ofUnit.sort((a, b) => lengthOf(b.quota) - lengthOf(a.quota))
      if (longest !== undefined) return { quota, count: longest.count.followedBy(quota, to) }
      const knownFrom = before === undefined ? Number.NEGATIVE_INFINITY : to
      return { quota, count: new QuotaCount(quota, this.#view, knownFrom) }
    })
    const replaced = current.map((part): Past => ({ ...part, until: endOf(part.quota, begin) }))
    this.#past = [...this.#past, ...replaced].filter(
      ({ quota }) => !limit.quotas.some((other) => isKnownBy(quota, other)),
    )
    this.#forget(now, now)
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
   * Counts a start, under the limits that may be in force. Where they, or those before, say different things of a job that names no
   * units, the least counts.
   */
  start(job: Counting, charge: Charge, limits: readonly Limit[]): void {
    if (this.#parts.size === 0 && this.#past.length === 0) return
    this.#keep(limits)
    this.#forget(charge.readAt, charge.at)
    const known = [...this.#parts.values(), this.#past].flat()
    const leastOf = (unit: string | undefined) =>
      Math.min(...known.filter(({ quota }) => quota.unit === unit).map(({ quota }) => unitsIn(quota, job)))
    const counts = new Map(known.map(({ quota, count }) => [count, leastOf(quota.unit)]))
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

  /** Forgets what was replaced a whole window ago, and that in which nothing counts. */
  #forget(readAt: number, at: number): void {
    this.#past = this.#past.filter(({ count, until }) => until > at && count.used(readAt, at) > 0)
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

/** Whether what counts in a quota is known from another one. */
function isKnownBy(quota: Quota, other: Quota): boolean {
  const [window, longer] = [quota.window, other.window]
  const isLonger = 'length' in window && 'length' in longer && longer.length > window.length
  return quota.unit === other.unit && (isLonger || isSameWindow(quota, other))
}

/** When the window is over in which a start at `at` counts. */
function endOf({ window }: Quota, at: number): number {
  return 'length' in window ? at + window.length : periodAround(window, at).until
}

const HOUR = 3_600_000_000
const LENGTHS = { hour: HOUR, day: 24 * HOUR, week: 7 * 24 * HOUR } as const

function lengthOf({ window }: Quota): number {
  return 'length' in window ? window.length : LENGTHS[window.period]
}

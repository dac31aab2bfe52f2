/**
 * The further parts of a limit, beside its pace: quotas, and how many attempts may run at once. A departure is due when every
 * part allows it, and a start is charged to all of them at once.
 */

import type { Limit } from './limit.ts'
import { advance, type Projection, type WaitingJob } from './projection.ts'
import * as quotas from './quota.ts'
import { spacing } from './warmth.ts'

/** What a job counts in named units, such as `{ tokens: 1200 }`; whole numbers above 0. */
export type Costs = Readonly<Record<string, number>>

/** What the quotas of a limit count, in their order. */
export type Usage = quotas.QuotaUse[]

/** What is charged to quotas. */
export interface Counted {
  /** What it counts in each quota without a unit. */
  readonly cost: number
  readonly costs?: Costs | undefined
}

/** A job as the quotas see it. */
export type CountedJob = WaitingJob & Counted

/** The part of a limit that quotas are. */
export type Quotas = Pick<Limit, 'quotas'>

/** How many of the jobs ahead a projection follows one by one. Beyond them its times are estimates. */
export const FARTHEST_STEP = 200

export function createUsage({ quotas: parts }: Quotas): Usage {
  return parts.map(quotas.createUse)
}

/** Returns what the job counts in each quota of the limit. */
export function chargesOf({ quotas: parts }: Quotas, { cost, costs }: Counted): number[] {
  return parts.map(({ unit, each }) => (unit === undefined ? cost : (namedIn(costs, unit) ?? each!)))
}

/** What the costs say of the unit, which may be named like what every object has. */
export function namedIn(costs: Costs | undefined, unit: string): number | undefined {
  return costs !== undefined && Object.hasOwn(costs, unit) ? costs[unit] : undefined
}

/** Returns the quota that the job alone exceeds, if there is one: it would never depart. */
export function exceededBy(limit: Quotas, job: Counted): quotas.Quota | undefined {
  const charges = chargesOf(limit, job)
  return limit.quotas.find(({ amount }, index) => charges[index]! > amount)
}

/** Returns the earliest time from `from` on at which every quota has room. */
export function roomAt(limit: Quotas, usage: Usage, charges: readonly number[], from: number): number {
  // A later time may lie in another period of a calendar, so that each quota is asked again.
  for (let at = from; ; ) {
    const later = limit.quotas.reduce(
      (time, quota, index) => quotas.roomAt(quota, usage[index]!, charges[index]!, time),
      at,
    )
    if (later === at) return at
    at = later
  }
}

/** A quota for which a start waits. */
export interface QuotaHold {
  /** Its place among the quotas of the limit, from 0 on. */
  readonly index: number
  /** When it has room, and how many units come free then. */
  readonly until: number
  readonly units: number
}

/** Returns the quota for which a start waits from `from` on, if it waits for one; of several, the one that has room last. */
export function holdOf(
  limit: Quotas,
  usage: Usage,
  charges: readonly number[],
  from: number,
): QuotaHold | undefined {
  const until = roomAt(limit, usage, charges, from)
  // Entries end at whole microseconds.
  const before = Math.max(from, until - 1)
  const index = limit.quotas.findIndex(
    (quota, at) => quotas.roomAt(quota, usage[at]!, charges[at]!, before) > before,
  )
  if (index === -1) return undefined
  const { ends, used } = usage[index]!
  return { index, until, units: used[ends.indexOf(until)]! }
}

/** Counts a start at `at` in every quota. */
export function charge(limit: Quotas, usage: Usage, charges: readonly number[], at: number): void {
  for (const [index, quota] of limit.quotas.entries())
    quotas.charge(quota, usage[index]!, charges[index]!, at)
}

/** Takes back what a start at `at` was charged, because it did not happen then. */
export function giveBack(limit: Quotas, usage: Usage, charges: readonly number[], at: number): void {
  for (const [index, quota] of limit.quotas.entries())
    quotas.charge(quota, usage[index]!, -charges[index]!, at)
}

/** Counts `actual` instead of `charged` in the quotas of the unit, for the start at `at`. */
export function settle(
  limit: Quotas,
  usage: Usage,
  unit: string,
  charged: number,
  actual: number,
  at: number,
): void {
  for (const [index, quota] of limit.quotas.entries()) {
    if (quota.unit === unit) quotas.charge(quota, usage[index]!, actual - charged, at)
  }
}

/** Forgets what counts no more. Call it before the usage is read at `now`. */
export function tidy(limit: Quotas, usage: Usage, now: number): void {
  for (const [index, quota] of limit.quotas.entries()) quotas.tidy(quota, usage[index]!, now)
}

/** Returns the usage under a limit that changed at `now`. A quota goes on from the one of its unit that looks back farthest. */
export function changeUsage(
  before: { readonly quotas: readonly quotas.QuotaWindow[] },
  usage: Readonly<Usage>,
  after: Quotas,
  now: number,
): Usage {
  return after.quotas.map((quota) => {
    const same = before.quotas
      .map((known, index) => ({ known, index }))
      .filter(({ known }) => known.unit === quota.unit)
    const [longest] = same.toSorted(
      (a, b) => quotas.lengthOf(b.known.window) - quotas.lengthOf(a.known.window),
    )
    const source = same.find(({ known }) => isSameWindow(known, quota)) ?? longest
    if (source === undefined) return quotas.createUse()
    const use = usage[source.index]!
    if (isSameWindow(source.known, quota)) return quotas.copyUse(use)
    return quotas.carryOver(source.known, use, quota, now)
  })
}

/** When the usage no longer affects a departure. */
export function forgettableAt(usage: Readonly<Usage>): number {
  return Math.max(Number.NEGATIVE_INFINITY, ...usage.map(quotas.forgettableAt))
}

/**
 * Follows a line: when each of its jobs departs, if handlers and places are free. The projection and the usage that it begins
 * with stay as they are.
 */
export class Walk {
  readonly #limit: Limit
  readonly #projection: Projection
  readonly #usage: Usage
  /** When the last job departed. */
  #last: number
  /** A job counts more than a whole quota, which was lowered: it departs alone, and takes no more windows than another. */
  #hasOversized = false

  constructor(limit: Limit, from: Projection, usage: Usage) {
    this.#limit = limit
    this.#projection = { ...from }
    this.#usage = usage.map(quotas.copyUse)
    this.#last = from.slot
  }

  /** Returns the quota for which the next job waits, if it waits for one. */
  holdOf(job: CountedJob): QuotaHold | undefined {
    return holdOf(this.#limit, this.#usage, chargesOf(this.#limit, job), this.#slotOf(job))
  }

  /** Returns when the next job departs, and counts it. */
  depart(job: CountedJob): number {
    const charges = chargesOf(this.#limit, job)
    this.#hasOversized ||= this.#limit.quotas.some(({ amount }, index) => charges[index]! > amount)
    this.#last = roomAt(this.#limit, this.#usage, charges, this.#slotOf(job))
    charge(this.#limit, this.#usage, charges, this.#last)
    advance(this.#projection, this.#limit, { cost: job.cost, readyAt: this.#last })
    return this.#last
  }

  /** Returns a time before which no job departs that stands behind the jobs so far and `units` cost units more. */
  behind(units: number): number {
    const { slot, warmth } = this.#projection
    const byPace = slot + spacing(this.#limit, warmth, units)
    if (this.#hasOversized) return byPace
    return this.#limit.quotas.reduce((latest, { amount, unit, window }) => {
      if (unit !== undefined || !quotas.isRolling(window)) return latest
      return Math.max(latest, this.#last + (Math.ceil(units / amount) - 1) * window.length)
    }, byPace)
  }

  #slotOf({ readyAt }: CountedJob): number {
    const { slot } = this.#projection
    return Math.max(slot, readyAt ?? slot)
  }
}

function isSameWindow({ window: a }: quotas.QuotaWindow, { window: b }: quotas.QuotaWindow): boolean {
  if (quotas.isRolling(a)) return quotas.isRolling(b) && a.length === b.length
  return !quotas.isRolling(b) && a.period === b.period && a.zone === b.zone
}

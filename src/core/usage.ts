/**
 * The further parts of a limit, beside its pace: quotas, and how many attempts may run at once. A departure is due when every
 * part allows it, and a start is charged to all of them at once.
 */

import type { Limit } from './limit.ts'
import type { WaitingJob } from './projection.ts'
import * as quotas from './quota.ts'

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

/** What tells the quotas of a limit apart. */
export interface Windows {
  readonly quotas: readonly quotas.QuotaWindow[]
}

const NEVER = Number.POSITIVE_INFINITY

export function createUsage({ quotas: parts }: Quotas): Usage {
  return parts.map(quotas.createUse)
}

/** Returns what the job counts in each quota of the limit. */
export function chargesOf({ quotas: parts }: Quotas, { cost, costs }: Counted): number[] {
  const charges = new Array<number>(parts.length)
  for (let index = 0; index < parts.length; index++) {
    const { unit, each } = parts[index]!
    charges[index] = unit === undefined ? cost : (costs?.[unit] ?? each!)
  }
  return charges
}

/**
 * Returns the earliest time from `from` on at which each of so many quotas has room; `roomOf` says that of one. All that asks when a
 * start is possible asks here, whether it counts what is there now or what will be there behind others.
 */
export function earliest(
  count: number,
  from: number,
  roomOf: (place: number, from: number) => number,
): number {
  // A later time may lie in another period of a calendar, so that each quota is asked again.
  for (let at = from; ; ) {
    let later = at
    for (let place = 0; place < count; place++) later = roomOf(place, later)
    if (later === at) return at
    at = later
  }
}

/** That time, by what counts now. */
export function roomAt(limit: Quotas, usage: Usage, charges: readonly number[], from: number): number {
  return earliest(charges.length, from, (index, at) =>
    quotas.roomAt(limit.quotas[index]!, usage[index]!, charges[index]!, at),
  )
}

/** A quota for which a start waits. */
export interface QuotaHold {
  /** Its place among the quotas of the limit, from 0 on. */
  readonly index: number
  /** When it has room, and how many units come free then. */
  readonly until: number
  readonly units: number
  /** How many units the start needs, and how many count at the time from which on it waits; with the quota's amount, what is left. */
  readonly needed: number
  readonly used: number
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
  const use = usage[index]!
  return {
    index,
    until,
    units: use.used[use.ends.indexOf(until)]!,
    needed: charges[index]!,
    used: quotas.usedAt(limit.quotas[index]!, use, from),
  }
}

/** Counts a start at `at` in every quota. */
export function charge(limit: Quotas, usage: Usage, charges: readonly number[], at: number): void {
  for (let index = 0; index < charges.length; index++) {
    quotas.charge(limit.quotas[index]!, usage[index]!, charges[index]!, at)
  }
}

/** Takes back what a start at `at` was charged, because it did not happen then. */
export function giveBack(limit: Quotas, usage: Usage, charges: readonly number[], at: number): void {
  for (let index = 0; index < charges.length; index++) {
    quotas.charge(limit.quotas[index]!, usage[index]!, -charges[index]!, at)
  }
}

/**
 * Counts `actual` instead of `charged` in the quotas of the unit, for the start at `at`; where what it was charged may stand elsewhere
 * (`stands`, by the place of the quota), nothing is taken back.
 */
export function settle(
  limit: Quotas,
  usage: Usage,
  unit: string,
  charged: number,
  actual: number,
  at: number,
  stands: (index: number) => boolean = () => true,
): void {
  for (const [index, quota] of limit.quotas.entries()) {
    const more = quota.unit === unit ? actual - charged : 0
    if (more > 0 || stands(index)) quotas.charge(quota, usage[index]!, more, at)
  }
}

/** Forgets what counts no more. Call it before the usage is read at `now`. */
export function tidy(limit: Quotas, usage: Usage, now: number): void {
  for (let index = 0; index < usage.length; index++) quotas.tidy(limit.quotas[index]!, usage[index]!, now)
}

/** When the usage no longer affects a departure, also under a limit that comes back. */
export function forgettableAt({ quotas: parts }: Windows, usage: Readonly<Usage>): number {
  const ends = usage.map((use, index) => Math.min(quotas.forgettableAt(use), parts[index]!.until ?? NEVER))
  return Math.max(Number.NEGATIVE_INFINITY, ...ends)
}

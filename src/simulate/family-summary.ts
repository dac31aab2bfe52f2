import type { Limit } from '../core/limit.ts'
import { formatLimit } from '../core/limit-format.ts'
import { summarizeWaits, type WaitSummary } from './waits.ts'

/** What a family did under its total, as `--json` prints it. */
export interface TotalSummary {
  /** Such as `stripe/`. */
  readonly path: string
  readonly pattern: string
  readonly limit: string
  readonly arrivals: number
  readonly accepted: number
  readonly rejected: number
  /** Those of them that this total refused. */
  readonly rejectedByIt: number
  /** The share of its pace that was used while jobs waited below it, 0 to 1; null if none had to wait. */
  readonly utilisation: number | null
  /** The most cost units that waited below it, and how many may. */
  readonly mostWaiting: number
  readonly capacity: number
  readonly waitMs: WaitSummary
  /** The ten with most arrivals. */
  readonly children: readonly ChildSummary[]
  /** All others together; null: there are none. */
  readonly others: OtherChildren | null
}

/** A key, or a total, right below a total. */
export interface ChildSummary extends ChildCounts {
  readonly child: string
  readonly weight: number
}

export interface OtherChildren extends ChildCounts {
  readonly children: number
}

interface ChildCounts {
  readonly arrivals: number
  readonly accepted: number
  readonly rejected: number
  /**
   * What it got of what the family got while it had jobs that waited, 0 to 1, measured by the part of the total of which a job takes
   * most; of several children, what each got on average. null: none was accepted.
   */
  readonly share: number | null
  readonly waitMs: WaitSummary
}

/** What was counted of a child. Times are microseconds; those of one job that departed have one index. */
export interface CountedChild {
  readonly name: string
  readonly weight: number
  readonly rejected: number
  readonly arrivedAt: readonly number[]
  readonly waits: readonly number[]
  /** In cost units. */
  readonly costs: readonly number[]
  /** What it used of the total; and what the family used while it had work. */
  readonly used: number
  readonly usedMeanwhile: number
}

export interface CountedTotal
  extends Pick<TotalSummary, 'path' | 'pattern' | 'rejectedByIt' | 'utilisation' | 'mostWaiting'> {
  readonly limit: Limit
  readonly children: Iterable<CountedChild>
}

/** The most totals, and children of each, of which a summary says more than their number. */
export const MOST_SHOWN = 10

export function summarizeTotal(total: CountedTotal): TotalSummary {
  const { limit, children } = total
  const all = byArrivals(children)
  const shown = all.slice(0, MOST_SHOWN)
  const others = all.slice(MOST_SHOWN)
  const { arrivals, accepted, rejected, waitMs } = countsOf(all)
  return {
    path: total.path,
    pattern: total.pattern,
    limit: formatLimit(limit),
    arrivals,
    accepted,
    rejected,
    rejectedByIt: total.rejectedByIt,
    utilisation: total.utilisation,
    mostWaiting: total.mostWaiting,
    capacity: limit.capacity,
    waitMs,
    children: shown.map((child) => ({ child: child.name, weight: child.weight, ...countsOf([child]) })),
    others: others.length === 0 ? null : { children: others.length, ...countsOf(others) },
  }
}

/** Those with most arrivals first. */
export function byArrivals(children: Iterable<CountedChild>): CountedChild[] {
  return [...children].sort((one, other) => arrivalsOf(other) - arrivalsOf(one))
}

function arrivalsOf({ waits, rejected }: CountedChild): number {
  return waits.length + rejected
}

function countsOf(children: readonly CountedChild[]): ChildCounts {
  const sum = (of: (child: CountedChild) => number) =>
    children.reduce((before, child) => before + of(child), 0)
  const accepted = sum(({ waits }) => waits.length)
  const rejected = sum((child) => child.rejected)
  const used = sum((child) => child.used)
  return {
    arrivals: accepted + rejected,
    accepted,
    rejected,
    share: used === 0 ? null : used / sum(({ usedMeanwhile }) => usedMeanwhile),
    waitMs: summarizeWaits(children.flatMap(({ waits }) => waits)),
  }
}

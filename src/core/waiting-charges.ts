import type { Limit } from './limit.ts'
import type { Costs, Usage } from './usage.ts'

/** What waiting jobs name in units other than their cost: how many of them name a unit, and how much in all. */
export type NamedUnits = Map<string, { jobs: number; units: number }>

/** What waits in a line, in sums. */
export interface WaitingSums {
  /** Cost units. */
  readonly waiting: number
  /** How many jobs; undefined where that is not counted, so that only what has no unit of its own is known. */
  readonly jobs?: number | undefined
  /** Absent where no waiting job names a unit. */
  readonly named?: NamedUnits | undefined
}

/** Returns the sums with a job that comes, or with -1 for one that goes; undefined where no job names a unit then. */
export function countNamed(
  named: NamedUnits | undefined,
  costs: Costs,
  sign: 1 | -1,
): NamedUnits | undefined {
  const sums: NamedUnits = named ?? new Map()
  for (const [unit, units] of Object.entries(costs)) {
    const sum = sums.get(unit) ?? { jobs: 0, units: 0 }
    sum.jobs += sign
    sum.units += sign * units
    if (sum.jobs === 0) sums.delete(unit)
    else sums.set(unit, sum)
  }
  return sums.size === 0 ? undefined : sums
}

/**
 * Whether a quota might hold one of the jobs that wait, or a further one with these charges. If not even all of them together fill
 * what is left of any quota, the pace alone says when each departs.
 */
export function mayHold(
  limit: Limit,
  usage: Usage,
  sums: WaitingSums,
  charges: readonly number[],
  now: number,
): boolean {
  for (let index = 0; index < charges.length; index++) {
    const { amount, unit, each } = limit.quotas[index]!
    let total = charges[index]! + (unit === undefined ? sums.waiting : chargeOf(sums, unit, each!))
    const { ends, used } = usage[index]!
    for (let entry = ends.length - 1; entry >= 0 && ends[entry]! > now; entry--) total += used[entry]!
    if (total > amount) return true
  }
  return false
}

function chargeOf({ jobs, named }: WaitingSums, unit: string, each: number): number {
  if (jobs === undefined) return Number.POSITIVE_INFINITY
  const sum = named?.get(unit)
  return sum === undefined ? jobs * each : sum.units + (jobs - sum.jobs) * each
}

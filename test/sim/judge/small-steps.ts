import type { Breach } from '../../../src/testing.ts'
import type { Plan } from '../plan/plan.ts'
import { travelOf } from './excuses.ts'
import type { Circumstances } from './troubles.ts'

/** A step that a worker takes for what the network explains, beside what the ways of the run explain; milliseconds. */
const UNNOTICED = 2
/** Until a worker has read the clock again; milliseconds. */
const READ_EVERY = 1_500
/** A worker follows such a step by a millisecond a second: a gap may be shorter by that share of the interval. */
const SLEW = 1e-3
/** The interval, in gaps that the laws ask for at least: with the default tolerance they are three quarters of it. */
const INTERVAL = 4 / 3

/**
 * Whether a start came too early by no more than a worker follows the clock of Redis, which was set forward by less than it notices
 * (docs/redis.md, what does not hold).
 */
export function isOfSmallStep(
  { law, at, message }: Breach,
  { plan, struck }: { readonly plan: Plan } & Pick<Circumstances, 'struck'>,
): boolean {
  const [, gap, least] = /came ([\d.]+) ms after .*, expected at least ([\d.]+) ms/.exec(message) ?? []
  if (law !== 'L2' || gap === undefined || least === undefined) return false
  if (Number(least) - Number(gap) > SLEW * INTERVAL * Number(least)) return false
  const travel = travelOf(plan)
  const most = UNNOTICED + 4 * travel
  return struck.some(({ fault, from }) => {
    const isSmall = fault.kind === 'step' && fault.by > 0 && fault.by <= most
    return isSmall && from <= at && at <= from + (READ_EVERY + travel + most / SLEW) * 1_000
  })
}

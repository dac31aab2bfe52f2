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

/** The longest step that a worker may not notice in this run; milliseconds. */
export function longestUnnoticed(plan: Plan): number {
  return UNNOTICED + 4 * travelOf(plan)
}

/** By how much a start came too early behind another, and what the laws ask for at least; milliseconds. Undefined: it broke another law. */
export function shortGapOf({
  law,
  message,
}: Pick<Breach, 'law' | 'message'>): { readonly gap: number; readonly least: number } | undefined {
  const [, gap, least] = /came ([\d.]+) ms after .*, expected at least ([\d.]+) ms/.exec(message) ?? []
  return law === 'L2' && gap !== undefined ? { gap: Number(gap), least: Number(least) } : undefined
}

/**
 * Whether a start came too early because the clock of Redis was set by less than a worker notices: by no more than the worker follows
 * it, where it was set forward; by no more than it was set back, while a slow way explains that (docs/redis.md, what does not hold).
 */
export function isOfSmallStep(
  breach: Breach,
  { plan, struck }: { readonly plan: Plan } & Pick<Circumstances, 'struck'>,
): boolean {
  const { at } = breach
  const short = shortGapOf(breach)
  if (short === undefined) return false
  const missing = short.least - short.gap
  const travel = travelOf(plan)
  const most = longestUnnoticed(plan)
  const slow = struck.flatMap(({ fault, until }) => (fault.kind === 'slow' ? [until] : []))
  return struck.some(({ fault, from }) => {
    if (fault.kind !== 'step' || at < from) return false
    if (fault.by > 0) {
      const followed = from + (READ_EVERY + travel + most / SLEW) * 1_000
      return fault.by <= most && missing <= SLEW * INTERVAL * short.least && at <= followed
    }
    const isAlways = -fault.by <= UNNOTICED + travelOf({ ...plan, faults: [] })
    const unnoticed = isAlways
      ? Number.POSITIVE_INFINITY
      : Math.max(0, ...slow) + (READ_EVERY + travel) * 1_000
    return -fault.by <= UNNOTICED + travel && missing <= -fault.by && at <= unnoticed
  })
}

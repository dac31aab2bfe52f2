import type { Breach } from '../../../src/testing.ts'
import type { Plan } from '../plan/plan.ts'
import { travelOf } from './excuses.ts'
import type { Circumstances } from './troubles.ts'

/** A process that has nothing to do reads the clock of Redis so often; milliseconds. */
const READ_EVERY = 1_000

/**
 * Whether a start came too early because the clock of Redis was set back, and forward again before a process read it: what started
 * in between is dated back by the step, and nobody tells the store of that (docs/redis.md, what does not hold).
 */
export function isOfHiddenStep(
  { law, at, message }: Breach,
  { plan, struck }: { readonly plan: Plan } & Pick<Circumstances, 'struck'>,
): boolean {
  const [, gap, least] = /came ([\d.]+) ms after .*, expected at least ([\d.]+) ms/.exec(message) ?? []
  if (law !== 'L2' || gap === undefined || least === undefined) return false
  const missing = Number(least) - Number(gap)
  const travel = travelOf(plan) * 1_000
  const startBefore = at - Number(gap) * 1_000
  const steps = struck.flatMap(({ fault, from }) => (fault.kind === 'step' ? [{ by: fault.by, from }] : []))
  return steps.some(({ by, from: forwardAt }) => {
    if (by < missing || at < forwardAt || startBefore > forwardAt + travel) return false
    return steps.some(({ by, from: backAt }) => {
      const isHidden = backAt <= forwardAt && forwardAt <= backAt + READ_EVERY * 1_000 + travel
      return by < 0 && isHidden && startBefore >= backAt - travel
    })
  })
}

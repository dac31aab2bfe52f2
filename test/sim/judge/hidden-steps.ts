import type { Breach } from '../../../src/testing.ts'
import type { Plan } from '../plan/plan.ts'
import { travelOf } from './excuses.ts'
import { shortGapOf } from './small-steps.ts'
import type { Circumstances } from './troubles.ts'

/** A process that has nothing to do reads the clock of Redis so often; milliseconds. */
const READ_EVERY = 1_000

/**
 * Whether a start came too early because the clock of Redis was set back, and forward again before a process read it: the store
 * dates back what started in between, by the step, and no process notices (docs/redis.md, what does not hold).
 */
export function isOfHiddenStep(
  breach: Breach,
  { plan, struck }: { readonly plan: Plan } & Pick<Circumstances, 'struck'>,
): boolean {
  const { at } = breach
  const short = shortGapOf(breach)
  if (short === undefined) return false
  const travel = travelOf(plan) * 1_000
  const startBefore = at - short.gap * 1_000
  const steps = struck.flatMap(({ fault, from }) => (fault.kind === 'step' ? [{ by: fault.by, from }] : []))
  return steps.some(({ by, from: forwardAt }) => {
    if (by < short.least - short.gap || at < forwardAt || startBefore > forwardAt + travel) return false
    return steps.some(({ by, from: backAt }) => {
      const isHidden = backAt <= forwardAt && forwardAt <= backAt + READ_EVERY * 1_000 + travel
      return by < 0 && isHidden && startBefore >= backAt - travel
    })
  })
}

import type { Breach } from '../../../src/testing.ts'
import type { Seen } from '../actors/recorder.ts'
import { travelOf } from './excuses.ts'
import type { Circumstances } from './troubles.ts'

/** Until the processes that lived through a step of the clock have read it again and told the store; milliseconds. */
const NOTICED = 1_500
/** Until a process that begins has read the clock for the first time, beside its ways; milliseconds. */
const OPENS = 50

/**
 * Whether a start came too early because the clock of Redis was set forward just before its worker first read it: no process tells
 * the store of the step until one that is older reads the clock again (docs/redis.md, what does not hold).
 */
export function isOfNewcomer(
  { law, at, id, message }: Breach,
  { plan, struck, lives }: Pick<Circumstances, 'plan' | 'struck' | 'lives'>,
  seen: readonly Seen[],
): boolean {
  if (law !== 'L2' || /frozen|paused/.test(message)) return false
  const start = seen.find(({ event }) => event.type === 'start' && event.at === at && event.id === id)
  const life = lives.find(({ name }) => name === start?.by)
  if (life === undefined) return false
  const travel = travelOf(plan)
  return struck.some(({ fault, from }) => {
    const isForward = fault.kind === 'step' && fault.by > 0
    const isSoon = from <= at && at <= from + (NOTICED + travel) * 1_000
    return isForward && isSoon && life.from >= from - (OPENS + 6 * travel) * 1_000
  })
}

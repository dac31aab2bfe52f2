import type { Breach } from '../../../src/testing.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { travelOf } from './excuses.ts'
import type { Circumstances } from './troubles.ts'

/** Until the processes that lived through a step of the clock have read it again and told the store; milliseconds. */
const NOTICED = 1_500
/** Until a process that begins has read the clock for the first time, beside its ways; milliseconds. */
const OPENS = 50
/** The roles that read the clock of Redis, and tell the store of a step. */
const HAS_CLOCK = /^(?:worker|scheduler|caller)-/

/**
 * Whether a start came too early, or beyond a quota, because the clock of Redis was set forward just before its worker first read
 * it: no process tells the store of the step until one that is older reads the clock again, or ever, where none is left (docs/redis.md,
 * what does not hold).
 */
export function isOfNewcomer(
  { law, at, id, key, message }: Breach,
  { plan, struck, lives }: Pick<Circumstances, 'plan' | 'struck' | 'lives'>,
  seen: readonly Seen[],
): boolean {
  if ((law !== 'L2' && law !== 'L10') || /frozen|paused/.test(message)) return false
  const start = seen.find(
    ({ event }) => event.type === 'start' && event.id === id && Math.abs(event.at - at) < 1,
  )
  const life = lives.find(({ name }) => name === start?.by)
  if (life === undefined) return false
  const travel = travelOf(plan)
  return struck.some(({ fault, from }) => {
    const isForward = fault.kind === 'step' && fault.by > 0
    const noticed = from + (NOTICED + travel) * 1_000
    const begins = from - (OPENS + 6 * travel) * 1_000
    const isNoticed = lives.some(
      (other) => HAS_CLOCK.test(other.name) && other.from < begins && other.until > noticed,
    )
    // Nobody tells the store ever: then what started before counts no more.
    const until = law === 'L10' && !isNoticed ? Math.max(noticed, from + longestWindow(plan, key)) : noticed
    return isForward && from <= at && at <= until && life.from >= begins
  })
}

/** How far the rolling quotas of a key look back, whatever its limit is changed to; microseconds. */
function longestWindow({ keys, totals = [], actions }: Plan, key: string | undefined): number {
  const limits = [...keys, ...totals, ...actions.flatMap((action) => (action.do === 'limit' ? [action] : []))]
  const quotas = limits.flatMap((limit) => (limit.key === key ? (limit.quotas ?? []) : []))
  return Math.max(0, ...quotas.map(({ window }) => (typeof window === 'number' ? window * 1_000 : 0)))
}

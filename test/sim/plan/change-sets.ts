import { endOfPeriod } from '../../../src/core/calendar.ts'
import { EPOCH } from '../world/process.ts'
import type { Random } from '../world/random.ts'
import { momentIn, type Span } from './busy.ts'
import type { Fault } from './fault.ts'
import type { Action, KeyPlan, Plan } from './plan.ts'
import { isSet, type QuotaPlan, type SetPlan } from './set-plan.ts'

/** The shortest window of a quota; milliseconds. */
const SHORTEST_WINDOW = 1_000

/** What of a plan says where the sets are. */
type Keys = Pick<Plan, 'keys' | 'ahead'>

/** When the period of a calendar ends that the run is about; undefined: it is about none. Milliseconds. */
export function periodEndOf({ keys, ahead = 0 }: Keys): number | undefined {
  const windows = keys.flatMap(({ quotas = [] }) => quotas.map(({ window }) => window))
  const calendar = windows.find((window) => typeof window === 'object')
  if (calendar === undefined) return undefined
  return (endOfPeriod(calendar, EPOCH + ahead * 1_000) - EPOCH) / 1_000 - ahead
}

/**
 * Changes of limits change their sets: parts come, change and go. The quota of a calendar goes when its period is over, so that no
 * run lasts until the next one is.
 */
export function changingSets(
  random: Random,
  work: Keys,
  actions: readonly Action[],
  spans: readonly Span[],
): Action[] {
  const sets = work.keys.filter(isSet)
  if (sets.length === 0) return [...actions]
  const changed = actions.map((action): Action => {
    const key = action.do === 'limit' && sets.find((set) => set.key === action.key)
    return action.do === 'limit' && key ? { ...action, ...changedSet(random, key) } : action
  })
  if (random.chance(0.2)) {
    const key = random.pick(sets)
    const at = Math.floor(momentIn(random, spans).at)
    changed.push({ do: 'limit', at, ...paceOf(key), ...changedSet(random, key) })
  }
  const periodEnd = periodEndOf(work) ?? Number.POSITIVE_INFINITY
  const going = sets
    .filter(({ quotas = [] }) => !quotas.every(isRolling))
    .map((key): Action => {
      const places = key.concurrency === undefined ? {} : { concurrency: key.concurrency }
      const at = Math.round(periodEnd + random.between(900, 2_500))
      return { do: 'limit', at, ...paceOf(key), quotas: key.quotas!, ...places }
    })
  // No later change may bring it back.
  return [...changed, ...going]
    .map((action) => {
      if (action.do !== 'limit' || action.at <= periodEnd || action.quotas === undefined) return action
      return { ...action, quotas: action.quotas.filter(isRolling) }
    })
    .sort((a, b) => a.at - b.at)
}

/** Its limit without further parts. An interval below a millisecond would need a tolerance of its own. */
function paceOf({ key, capacity, rate }: KeyPlan): Pick<KeyPlan, 'key' | 'capacity' | 'rate'> {
  const count = Math.min(rate.count, Math.max(1, Math.floor(rate.per * 0.9)))
  return { key, capacity, rate: { count, per: rate.per } }
}

function changedSet(random: Random, { quotas = [], concurrency }: SetPlan): SetPlan {
  const rolling = quotas.filter(isRolling)
  const calendars = quotas.filter((quota) => !isRolling(quota))
  const places = concurrency === undefined ? {} : { concurrency }
  switch (random.pick(['amounts', 'windows', 'one less', 'none', 'one more', 'places'] as const)) {
    case 'amounts':
      return { quotas: [...rolling.map((quota) => scaled(random, quota)), ...calendars], ...places }
    case 'windows':
      return {
        quotas: distinct([...rolling.map((quota) => stretched(random, quota)), ...calendars]),
        ...places,
      }
    case 'one less':
      return { quotas: [...rolling.slice(1), ...calendars], ...places }
    case 'none':
      return { quotas: calendars }
    case 'one more': {
      const more = { amount: random.between(3, 30), window: random.between(SHORTEST_WINDOW, 2_000) }
      return { quotas: distinct([...quotas, more]), ...places }
    }
    case 'places':
      return { quotas, ...(random.chance(0.7) && { concurrency: random.between(1, 5) }) }
  }
}

function scaled(random: Random, quota: QuotaPlan): QuotaPlan {
  const amount = Math.round(quota.amount * random.log(0.4, 3))
  return { ...quota, amount: Math.max(1, quota.each ?? 1, amount) }
}

function stretched(random: Random, quota: QuotaPlan & { readonly window: number }): QuotaPlan {
  return { ...quota, window: Math.max(SHORTEST_WINDOW, Math.round(quota.window * random.log(0.3, 2))) }
}

function isRolling(quota: QuotaPlan): quota is QuotaPlan & { readonly window: number } {
  return typeof quota.window === 'number'
}

/** One for each unit and window. */
function distinct(quotas: readonly QuotaPlan[]): QuotaPlan[] {
  const nameOf = ({ unit, window }: QuotaPlan) => `${unit} ${JSON.stringify(window)}`
  return quotas.filter((quota, at) => quotas.findIndex((other) => nameOf(other) === nameOf(quota)) === at)
}

/**
 * With a calendar the clock of Redis is not set again, and a change that takes the quota away is not lost. Nor is the clock set where keys
 * warm up: they are then warmer than they should be (`docs/redis.md`, what does not hold).
 */
export function sparing(plan: Keys, faults: readonly Fault[]): Fault[] {
  const hasCalendar = periodEndOf(plan) !== undefined
  const isWarming = plan.keys.some(({ warmUp }) => warmUp !== undefined)
  const others = hasCalendar || isWarming ? faults.filter(({ kind }) => kind !== 'step') : [...faults]
  if (!hasCalendar) return others
  return others.map((fault) => (fault.kind === 'restart' ? { ...fault, keeps: 'all' } : fault))
}

import { shardOf } from '../../../../src/redis/scripts/keys.ts'
import { Draws } from './draws.ts'
import type { Fault, SeededPlan } from './plan.ts'

/** Runs that begin alike have other totals than they have sets. */
const OF_TOTALS = 700_001
const FAMILY = 'f'
/** A child with all of its work at once has room for it: it is the total that refuses. */
const ROOM_OF_FLOOD = 300

/**
 * A third of the plans with a total over two or three of its keys, or with one in another: mostly slower than what the keys allow, in
 * part with a quota or places, with weights, and with a child that floods. It draws apart, so a plan without one keeps all, and the
 * others all but the names of their keys.
 */
export function withTotals(plan: SeededPlan): SeededPlan {
  const draws = new Draws(plan.seed + OF_TOTALS)
  if (!draws.hits(1 / 3)) return plan
  const isNested = draws.hits(0.4)
  const names = namesOf(draws, isNested)
  const keys = ['a', 'b/x', 'c'].slice(0, Math.max(2, plan.keys.length)).map((key) => names[key]!)
  const below = keys.filter((key) => key.startsWith(FAMILY))
  const own = Object.entries(plan.limits).map(([key, limit]) => [names[key]!, limit] as const)
  const limits: Record<string, string> = Object.fromEntries(own)
  for (const key of below)
    if (draws.hits(0.4)) limits[key] = `${limits[key] ?? plan.limit}, weight ${draws.between(2, 4)}`
  const flood = draws.hits(0.5) ? draws.pick(below) : undefined
  if (flood !== undefined) limits[flood] = (limits[flood] ?? plan.limit).replace(/^\d+/, `${ROOM_OF_FLOOD}`)
  limits[`${FAMILY}/`] = `${drawPace(draws)}${drawParts(draws, plan)}`
  if (isNested) {
    const weight = draws.hits(0.4) ? `, weight ${draws.between(2, 4)}` : ''
    limits[`${FAMILY}/in/`] = `${drawPace(draws)}${weight}`
  }
  const floods = flood === undefined ? [] : [{ name: 'flood', keys: [flood], ...drawFlood(draws, plan) }]
  return {
    ...plan,
    keys,
    limits,
    producers: [...plan.producers, ...floods],
    faults: plan.faults.map(ofFamily(plan)),
  }
}

/** By the names that they have in plans without a total; one may stand beside the family, or be the key before the slash. */
function namesOf(draws: Draws, isNested: boolean): Readonly<Record<string, string>> {
  const third = draws.pick(['in/c', 'in/c', 'c', 'outside', 'before'])
  return {
    a: `${FAMILY}/a`,
    'b/x': isNested ? `${FAMILY}/in/x` : `${FAMILY}/b/x`,
    c: third === 'outside' ? 'c' : third === 'before' ? FAMILY : `${FAMILY}/${third}`,
  }
}

function drawPace(draws: Draws): string {
  const tolerance = draws.pick(['', '', '', '', ', tolerance 0', ', tolerance 3ms', ', tolerance 30ms'])
  return `${draws.pick([15, 40, 120, 1_000])}, ${draws.pick([12, 20, 30, 45])}/s${tolerance}`
}

/** A unit that jobs name is counted by the limits of their keys, and may be by the total. */
function drawParts(draws: Draws, { limit }: SeededPlan): string {
  const quota = draws.hits(0.3) ? `, ${draws.between(20, 50)}/${draws.between(2, 3)}s` : ''
  const isNamed = draws.hits(0.4) && limit.includes('tokens')
  const tokens = isNamed ? `, ${draws.between(60, 160)} tokens/${draws.between(2, 4)}s 4 each` : ''
  return `${quota}${tokens}${draws.hits(0.3) ? `, ${draws.between(3, 5)} at once` : ''}`
}

/** All at once, and it comes back with what is refused. Where handlers take long there are fewer. */
function drawFlood(draws: Draws, { limit }: SeededPlan) {
  const jobs = draws.between(40, 80)
  return { jobs: limit.includes('at once') ? Math.floor(jobs / 4) : jobs, comesBack: true }
}

/** What moves a shard moves the one in which the family lives. */
function ofFamily({ store }: SeededPlan): (fault: Fault) => Fault {
  return (fault) => {
    if (fault.do !== 'reshard' || store.kind !== 'cluster') return fault
    return { ...fault, shard: shardOf(FAMILY, store.shards) }
  }
}

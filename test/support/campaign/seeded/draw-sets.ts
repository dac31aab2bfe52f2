import { Draws } from './draws.ts'
import type { SeededPlan } from './plan.ts'

/** Runs that begin alike have other sets than runs without one have limits. */
const OF_SETS = 500_009
const UNIT = 'tokens'
/** What is settled is at most so much more than what was estimated. */
const MOST = 8

/**
 * Half of the plans with a limit that is a set: a quota or two, places, or both; with jobs that name what they cost, and handlers
 * that settle it. It draws apart, so a seed keeps all else.
 */
export function withSets(plan: SeededPlan): SeededPlan {
  const draws = new Draws(plan.seed + OF_SETS)
  if (draws.hits(0.5)) return plan
  const seconds = () => draws.between(2, 5)
  const places = draws.hits(0.6) ? draws.between(2, 4) : undefined
  const quota = draws.hits(0.5) || places === undefined ? `, ${draws.between(12, 30)}/${seconds()}s` : ''
  const tokens = draws.hits(0.7) ? `, ${draws.between(40, 120)} ${UNIT}/${seconds()}s 4 each` : ''
  const set = `${quota}${tokens}${places === undefined ? '' : `, ${places} at once`}`
  const costs = { unit: UNIT, most: MOST }
  return {
    ...plan,
    limit: `${plan.limit}${set}`,
    // A key with a limit of its own keeps a pace alone in part of the runs; but what names a unit needs a quota of it.
    limits: draws.hits(0.3) && tokens === '' ? plan.limits : mapped(plan.limits, (limit) => `${limit}${set}`),
    producers: plan.producers.map((producer) => ({
      ...producer,
      ...(tokens !== '' && draws.hits(0.8) && { costs }),
      // Jobs of a second each: fewer of them.
      ...(places !== undefined && { jobs: draws.between(8, 14) }),
    })),
    workers: plan.workers.map((worker) => ({
      ...worker,
      ...(tokens !== '' && draws.hits(0.8) && { settles: costs }),
      ...(places !== undefined && { takesMs: draws.pick([300, 1_000, 1_200]) }),
    })),
  }
}

function mapped(
  limits: Readonly<Record<string, string>>,
  change: (limit: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(limits).map(([key, limit]) => [key, change(limit)]))
}

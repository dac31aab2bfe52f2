import type { ProducerPlan } from '../plans.ts'
import type { Armed, Fault, SeededPlan } from './plan.ts'

/** What a producer that asked for all at once has in its place; milliseconds. */
const GAP_MS = 100
/** The share of its time by which a producer has met what is done to it. */
const BY = 0.8

/**
 * The plan, with what is done to a producer while it asks: one that asks for all its jobs at once is done before the first fault,
 * and a run in which it alone is disturbed would show nothing. It draws nothing, so a seed keeps all else.
 */
export function withinReach(plan: SeededPlan): SeededPlan {
  const isVictim = (nth: number) => [...plan.faults, ...plan.armed].some((one) => victimOf(one) === nth)
  const producers = plan.producers.map((producer, nth) =>
    isVictim(nth) ? { ...producer, gapMs: producer.gapMs ?? GAP_MS } : producer,
  )
  const producerOf = (one: Fault | Armed): ProducerPlan | undefined => producers[victimOf(one) ?? -1]
  const faults = plan.faults.map((fault): Fault => {
    const { jobs, gapMs } = producerOf(fault) ?? {}
    if (jobs === undefined || gapMs === undefined) return fault
    return { ...fault, atMs: Math.min(fault.atMs, Math.floor(jobs * gapMs * BY)) }
  })
  const armed = plan.armed.map((one): Armed => {
    const { jobs = Number.POSITIVE_INFINITY } = producerOf(one) ?? {}
    return { ...one, point: { ...one.point, count: Math.min(one.point.count, jobs) } }
  })
  return { ...plan, producers, faults, armed }
}

/** Which producer it is done to, if to any. */
function victimOf(one: Fault | Armed): number | undefined {
  return 'role' in one && one.role === 'producer' ? one.nth : undefined
}

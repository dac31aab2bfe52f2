import type { Random } from '../world/random.ts'
import { isTelling } from './fault.ts'
import type { JobPlan, Plan } from './plan.ts'

/** After that long an ended job can be forgotten, and its id be used again; milliseconds. */
const FORGOTTEN = 11_500
/** Ended jobs that are remembered otherwise, so that the store can be asked for what no process lived to write down. */
export const REMEMBERED = 100_000

/**
 * Makes a run of which nothing must remain in the store: ended jobs are forgotten, and some ids are used again. The record
 * cannot be completed from the store then, so nothing goes wrong that keeps a process from writing down what it knows.
 */
export function scarce(random: Random, plan: Plan): Plan {
  const faults = plan.faults.filter((fault) => !isTelling(fault))
  const jobs = random.chance(0.6) ? reused(random, plan) : plan.jobs.map((job) => ({ ...job, comesBack: 0 }))
  // With no operator nothing takes the quota of a calendar away: see change-sets.ts.
  const keys = plan.keys.map((key) => {
    if (key.quotas === undefined) return key
    return { ...key, quotas: key.quotas.filter(({ window }) => typeof window === 'number') }
  })
  return { ...plan, keys, keepFinished: random.pick([0, 0, 3]), jobs, faults, actions: [], views: false }
}

/** A few jobs, each asked for again under its id when it can have been forgotten. */
function reused(random: Random, { jobs }: Plan): JobPlan[] {
  const rounds = random.between(2, 4)
  const first = jobs.slice(0, 6).map((job) => ({ ...job, at: Math.min(job.at, 1_000), comesBack: 0 }))
  return Array.from({ length: rounds }, (_, round) =>
    first.map((job) => ({
      ...job,
      at: job.at + round * (FORGOTTEN + random.between(0, 4_000)),
      // Their producer is one, so that it knows of both.
      producer: 1,
      ...(job.batch !== undefined && { batch: job.batch + 10 * round }),
    })),
  )
    .flat()
    .sort((a, b) => a.at - b.at)
}

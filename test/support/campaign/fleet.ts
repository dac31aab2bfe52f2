import type { CampaignPlan } from './campaign.ts'
import type { ProducerPlan, WorkerPlan } from './plans.ts'

/** Two producers and three workers around one Redis; every handler takes 20 ms. No machine keeps a process from its leases of 5 s. */
export function fleet({
  producer = {},
  worker = {},
  workers,
  ...plan
}: Partial<Omit<CampaignPlan, 'producers'>> & {
  producer?: Partial<ProducerPlan>
  /** For each of the three. */
  worker?: WorkerPlan
} = {}): CampaignPlan {
  return {
    limit: '200, 20/s',
    keys: ['a', 'b', 'c/x', 'c/y'],
    producers: ['p', 'q'].map((name) => ({ name, jobs: 50, ...producer })),
    workers: workers ?? [1, 2, 3].map(() => ({ concurrency: 50, leaseMs: 5_000, takesMs: 20, ...worker })),
    redis: {},
    ...plan,
  }
}

/**
 * Microseconds that news may take in an undisturbed fleet, however busy the machine: from a start to the store, and
 * from the store to a worker through a scheduler and a gate. A few milliseconds where each process has a processor.
 */
export const NEWS = 3_000_000

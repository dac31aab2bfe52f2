import type { Seen } from '../actors/recorder.ts'
import type { JobPlan, Plan } from '../plan/plan.ts'

/** Microseconds. */
export const SECOND = 1_000_000

const CALM = { least: 100, jitter: 10, spikes: 0, spike: 0 }

/** A plan for histories with a planted breach: one key of one start a second, one worker, nothing goes wrong. */
export function aPlan(parts: Partial<Plan> = {}): Plan {
  return {
    seed: 1,
    shards: 1,
    keys: [{ key: 'k', capacity: 10, rate: { count: 1, per: 1_000 } }],
    jobs: [],
    turns: [],
    actions: [],
    workers: [{ at: 0, concurrency: 100, lease: 10_000, scheduler: true }],
    producers: 1,
    callers: 0,
    schedulers: 0,
    clocks: {},
    network: { there: CALM, back: CALM, splits: 0 },
    keepFinished: 100,
    views: false,
    faults: [],
    ...parts,
  }
}

/** Ways that always take so long, there and back. */
export function ways(ms: number): Plan['network'] {
  const way = { least: ms * 1_000, jitter: 0.01, spikes: 0, spike: 0 }
  return { there: way, back: way, splits: 0 }
}

/** A job of that plan. */
export function aJob(id: string): JobPlan {
  return {
    id,
    key: 'k',
    producer: 1,
    at: 0,
    cost: 1,
    bytes: 0,
    attempts: 1,
    backoff: 1,
    comesBack: 0,
    handler: { takes: 0, computes: 0, fails: 0, hangs: false },
  }
}

/** A producer sees its job accepted, at so many seconds. */
export function accepted(id: string, at: number): Seen {
  const event = {
    type: 'answer',
    at: at * SECOND,
    id,
    key: 'k',
    cost: 1,
    accepted: true,
    departsAt: 0,
  } as const
  return { by: 'producer-1', event }
}

import type { Random } from '../world/random.ts'
import type { Plan } from './plan.ts'
import {
  actions,
  clock,
  fastChange,
  hesitation,
  jobs,
  keys,
  kill,
  loss,
  outage,
  settling,
  stop,
  unheard,
  workers,
  zombie,
} from './subject-parts.ts'
import { OF_TOTALS } from './subjects-of-totals.ts'

/**
 * What a run is about: it has the work that its subject needs, and the faults, at the moments at which they matter. A seed of one
 * subject finds what takes thousands of seeds that are drawn from everything.
 */
export const SUBJECTS = {
  /** Nothing but queues that are full, in batches, with costs and retries. */
  line: (random) => ({
    keys: keys(random, 1, [5, 30], [2, 12]),
    jobs: jobs(random, 20, { batches: true, costs: true, retries: true, span: 600 }),
  }),
  /** Workers die in the middle of their jobs. */
  deaths: (random) => ({
    jobs: jobs(random, 8, { takes: [200, 1_500] }),
    faults: [kill(random, 'worker-1', random.between(200, 1_500))],
  }),
  /** A worker stands still, or is cut off, for longer than its lease, and comes back. */
  zombies: (random) => ({
    keys: keys(random, 1, [2, 8], [20, 40]),
    workers: workers(random, [1_000, 1_500]),
    jobs: jobs(random, 14, { takes: [1_500, 4_000], span: 1_500 }),
    faults: zombie(random),
  }),
  /** The operator freezes, pauses and cancels while workers hold slots and stand still for a moment. */
  operator: (random) => {
    const own = keys(random, 1, [4, 12], [30, 60])
    return {
      keys: own,
      workers: workers(random, [4_000, 6_000]),
      jobs: jobs(random, 30, { span: 500 }),
      actions: actions(random, own[0]!.key, 30),
      faults: [0, 1, 2].flatMap(() => hesitation(random, 'worker-1')),
    }
  },
  /** Fast keys far from Redis: a worker starts their jobs in a row, and hesitates, dies or is cut off meanwhile. */
  runs: (random) => {
    const own = keys(random, 2, [60, 500], [60, 90])
    const way = { least: random.log(100, 10_000), jitter: 300, spikes: 0.02, spike: 20_000 }
    const at = random.between(100, 500)
    const lasts = random.between(500, 3_000)
    return {
      keys: own,
      // What waits for the end of a long lease cannot be taken for one that was lost.
      workers: workers(random, random.chance(0.5) ? [9_000, 10_000] : [1_000, 2_500]).map((worker) => ({
        ...worker,
        concurrency: random.pick([2, 10, 100]),
      })),
      jobs: jobs(random, 90, { span: random.between(20, 600), costs: true, retries: true, on: own }),
      actions: [
        ...(random.chance(0.4) ? actions(random, own[0]!.key, 6) : []),
        ...fastChange(random.fork('change'), own[1]!),
      ],
      network: { there: way, back: way, splits: random.chance(0.3) ? 0.1 : 0 },
      faults: random.pick([
        () => hesitation(random, 'worker-1'),
        () => [kill(random, 'worker-1', at)],
        () => zombie(random),
        () => [stop(random, at, lasts)],
        () => [outage(random, random.pick(['all', 'worker-1']), at, lasts, random.pick(['hold', 'refuse']))],
        () => [unheard(random, 'worker-1', random.between(10, 700), random.between(1_600, 3_000))],
        () => [{ kind: 'step', at, by: random.between(-60_000, 60_000), until: at } as const],
        () => [{ kind: 'restart', at, down: lasts, keeps: 'all', until: at + lasts } as const],
      ])(),
    }
  },
  /** Redis is cut off for longer than leases last while a worker asks for more jobs of a fast key: its question is held on the way. */
  'held questions': (random) => {
    const own = keys(random, 1, [50, 100], [120, 140])
    return {
      keys: own,
      workers: workers(random, [8_000, 9_500]),
      jobs: jobs(random, 110, { span: 50, on: own }),
      faults: [outage(random, 'all', random.between(150, 600), random.between(10_000, 12_000), 'hold')],
    }
  },
  /** A worker stands still with jobs that were handed over to it, and comes back when they are handed over to another. */
  'stale deliveries': (random) => ({
    keys: keys(random, 1, [12, 30], [80, 100]),
    workers: workers(random, [1_000, 1_200]),
    jobs: jobs(random, 70, { span: 300 }),
    faults: [300, 2_000].map((at) => stop(random, at + random.between(0, 600), random.between(1_100, 2_000))),
  }),
  /**
   * A worker stands still with deliveries on their way to it, for little more than the two seconds after which they are handed over
   * again. It asks for jobs for which another has the slot, because there are many lines, so slow that each job holds its slot for long.
   */
  'slots of others': (random) => {
    const own = keys(random, 10, [2.5, 4], [20, 30])
    const way = { least: random.log(10_000, 30_000), jitter: 2_000, spikes: 0, spike: 0 }
    return {
      keys: own,
      workers: workers(random, [1_000, 1_200]),
      jobs: jobs(random, 120, { span: 300, on: own }),
      network: { there: way, back: way, splits: 0 },
      faults: [300, 2_600].map((at) =>
        stop(random, at + random.between(0, 600), random.between(2_000, 2_500)),
      ),
    }
  },
  /** Producers are cut off while they ask, and some give up. */
  requests: (random) => {
    const at = random.between(300, 1_000)
    const lasts = random.between(2_500, 6_000)
    const direction = random.pick(['there', 'back'] as const)
    return {
      keys: keys(random, 1, [4, 20], [30, 40]),
      jobs: jobs(random, 24, { span: 2_500, takes: [0, 50] }).map((job) => ({
        ...job,
        givesUp: random.chance(0.5),
      })),
      faults: [{ kind: 'hold', part: 'producer-1', when: { at }, for: lasts, direction, until: at + lasts }],
    }
  },
  /** No worker reaches Redis for longer than its leases, and jobs run meanwhile. */
  outage: (random) => {
    const lasts = random.between(7_000, 11_000)
    return {
      workers: workers(random, [5_000, 6_000]),
      jobs: jobs(random, 6, { takes: [3_000, 14_000] }),
      faults: [outage(random, 'all', random.between(400, 1_200), lasts, 'hold')],
    }
  },
  /** Redis is away for more than a minute longer than a lease. */
  'long outage': (random) => ({
    workers: workers(random, [5_000, 6_000]),
    jobs: jobs(random, 6, { takes: [2_000, 12_000] }),
    faults: [outage(random, 'all', random.between(400, 1_200), random.between(72_000, 95_000), 'hold')],
  }),
  /** Redis starts again with all that it had. */
  restart: (random) => {
    const at = random.between(500, 2_000)
    const down = random.between(200, 1_800)
    return {
      workers: workers(random, [1_000, 2_500]),
      jobs: jobs(random, 8, { takes: [2_000, 6_000] }),
      faults: [{ kind: 'restart', at, down, keeps: 'all', until: at + down }],
    }
  },
  /** Redis starts again without the last writes. */
  loss: (random) => loss(random, [0.4, 2]),
  /** As `loss`, with intervals of more than a minute. */
  'loss at a slow rate': (random) => loss(random, [1 / 100, 1 / 65]),
  /** The clock of Redis is set while workers come and go. */
  clock: (random) =>
    clock(random, random.chance(0.5) ? random.between(128, 250) : random.between(300, 5_000)),
  /** The clock of Redis is set back, and a worker dies. */
  'clock set back': (random) => {
    const at = random.between(800, 2_500)
    return {
      jobs: jobs(random, 8, { takes: [1_000, 4_000] }),
      faults: [
        kill(random, 'worker-1', at - random.between(0, 600)),
        { kind: 'step', at, by: -random.between(60_000, 86_400_000), until: at },
      ],
    }
  },
  /** One way to Redis is slower than the other, and not the same for all workers. */
  ways: (random) => {
    const way = (least: number) => ({ least, jitter: 20, spikes: 0, spike: 0 })
    const there = random.log(10_000, 30_000)
    const isThere = random.chance(0.5)
    const own = keys(random, 2, [10, 40], [30, 60]).map((key) => ({ ...key, tolerance: 0 }))
    return {
      keys: own,
      jobs: jobs(random, 40, { span: 1_000, on: own }),
      actions: actions(random, own[0]!.key, 6).filter((action) => action.do === 'freeze'),
      network: { there: way(isThere ? there : 100), back: way(isThere ? 100 : there), splits: 0 },
    }
  },
  /** Ids of jobs that were forgotten are used again, and a worker of before comes back. */
  'ids again': (random) => {
    const round = 17_000
    const first = jobs(random, 3, { takes: [600, 1_500] })
    const again = first.map((job) => ({
      ...job,
      at: job.at + round,
      handler: { ...job.handler, takes: random.between(2_500, 5_000) },
    }))
    const at = random.between(250, 700)
    return {
      keepFinished: 0,
      workers: workers(random, [1_000, 1_500]),
      jobs: [...first, ...again],
      faults: [
        {
          kind: 'stop',
          part: 'worker-1',
          when: { at },
          for: round + random.between(300, 2_500) - at,
          until: 40_000,
        },
      ],
    }
  },
  /** Quotas bind, one of cost units and one of tokens, for which handlers settle less and more. */
  quotas: (random) => ({
    keys: keys(random, 1, [40, 150], [40, 60]).map((key) => ({
      ...key,
      quotas: [
        { amount: random.between(4, 9), window: random.between(1_000, 1_500) },
        { amount: random.between(12, 20), window: random.between(1_000, 2_000), unit: 'tokens', each: 2 },
      ],
    })),
    jobs: settling(random, jobs(random, 24, { costs: true, span: 800, takes: [0, 60] })),
  }),
  /** Workers die while their jobs hold all places. */
  places: (random) => ({
    keys: keys(random, 1, [20, 60], [20, 30]).map((key) => ({ ...key, concurrency: random.between(1, 3) })),
    workers: workers(random, [1_000, 1_500]),
    jobs: jobs(random, 10, { span: 300, takes: [200, 700] }),
    faults: [kill(random, 'worker-1', random.between(200, 1_200))],
  }),
  /** A worker stands still for longer than its lease, comes back, and settles what another runs by then. */
  settling: (random) => ({
    keys: keys(random, 1, [3, 8], [20, 40]).map((key) => ({
      ...key,
      quotas: [{ amount: 40, window: 2_000, unit: 'tokens', each: 4 }],
    })),
    workers: workers(random, [1_000, 1_500]),
    jobs: settling(random, jobs(random, 12, { takes: [2_000, 4_500], span: 1_500 })),
    faults: zombie(random),
  }),
  ...OF_TOTALS,
} as const satisfies Record<string, (random: Random) => Partial<Plan>>

export type Subject = keyof typeof SUBJECTS

export function isSubject(name: string): name is Subject {
  return Object.hasOwn(SUBJECTS, name)
}

/** Draws a run about one thing. */
export function drawAbout(subject: Subject, random: Random, seed: number): Plan {
  const calm = { least: random.log(50, 400), jitter: 30, spikes: 0, spike: 0 }
  return {
    seed,
    shards: 1,
    keys: keys(random, 1, [4, 20], [4, 40]),
    jobs: [],
    turns: [],
    actions: [],
    workers: workers(random, [2_000, 4_000]),
    producers: 1,
    callers: 0,
    schedulers: 0,
    clocks: {},
    network: { there: calm, back: calm, splits: 0 },
    keepFinished: 100_000,
    views: false,
    faults: [],
    ...SUBJECTS[subject](random),
  }
}

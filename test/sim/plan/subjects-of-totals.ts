import type { Random } from '../world/random.ts'
import { LONGEST_HOLD } from './draw-sets.ts'
import type { KeyPlan, Plan, TurnPlan } from './plan.ts'
import { jobs, keys, unheard, workers } from './subject-parts.ts'

/** Runs about families of keys below totals. */
export const OF_TOTALS = {
  /** A child whose costly jobs come about as fast as it may have them, beside one that has all of its work at once. */
  shares: (random) => {
    const [often, flood] = children(random, 2, [1_000, 1_000])
    const perSecond = random.between(190, 210)
    const cost = 6
    const every = (1_000 * cost) / (perSecond * (0.57 + random.next() * 0.06))
    const flooding = jobs(random, 140, { on: [flood!] }).map((job) => ({ ...job, cost: 2 }))
    const dripping = jobs(random, 60, { on: [often!] }).map((job, n) => {
      return { ...job, id: `d${n}`, cost, at: Math.round(100 + n * every) }
    })
    return {
      keys: [often!, flood!],
      totals: [total('f/', perSecond)],
      jobs: [...flooding, ...dripping].sort((a, b) => a.at - b.at),
    }
  },
  /** A child comes when another has had the total for itself for a while. */
  newcomers: (random) => {
    const [first, second] = children(random, 2, [1_000, 1_000])
    const late = random.between(1_200, 2_000)
    const coming = jobs(random, 120, { on: [second!] }).map((job) => ({
      ...job,
      id: `n${job.id}`,
      at: job.at + late,
    }))
    return {
      keys: [first!, second!],
      totals: [total('f/', 100)],
      jobs: [...jobs(random, 330, { on: [first!] }), ...coming],
    }
  },
  /** The sum of an outer total is less than what those below it allow. */
  'nested totals': (random) => {
    const own = children(random, 4, [20, 60]).map((key, n) =>
      n < 3 ? { ...key, key: `f/in/${key.key.slice(2)}` } : key,
    )
    return {
      keys: own,
      totals: [total('f/', random.between(6, 20)), total('f/in/', random.between(30, 60))],
      jobs: jobs(random, 40, { on: own, span: 300 }),
    }
  },
  /** Jobs of children with weights, below one total or two, ask for their longest wait. */
  'promised waits': (random) => {
    const isDeep = random.chance(0.5)
    const own = children(random, random.between(2, 5), [20, 90]).map((key, n) => ({
      ...key,
      key: isDeep && n < 3 ? `f/in/${key.key.slice(2)}` : key.key,
      weight: random.between(1, 4),
    }))
    return {
      keys: own,
      totals: [
        total('f/', random.between(10, 60)),
        ...(isDeep ? [total('f/in/', random.between(10, 60))] : []),
      ],
      jobs: jobs(random, random.between(20, 80), { on: own, span: 300, costs: true }),
      asks: Array.from({ length: random.between(1, 3) }, () => random.between(310, 1_200)),
    }
  },
  /** Answers are late for their slots time and again, so that slots are given up; the quota of the total has room for all jobs, and no more. */
  'slots given up': (random) => {
    const own = children(random, 3, [10, 30])
    const amount = random.between(8, 12)
    const way = { least: 200, jitter: 30, spikes: 0.15, spike: random.between(15_000, 25_000) }
    return {
      keys: own,
      totals: [{ ...total('f/', random.between(20, 40)), tolerance: 4, quotas: [{ amount, window: 8_000 }] }],
      jobs: jobs(random, amount, { on: own, span: 300 }),
      network: { there: way, back: way, splits: 0 },
    }
  },
  /** The clock of Redis is moved while one worker has a slot, and another asks for the next one. */
  'clock above slots': (random) => {
    const own = children(random, 4, [20, 60])
    const at = random.between(200, 1_200)
    const by = random.pick([86_400_000, random.between(1_000, 60_000), random.between(300, 1_900)])
    return {
      keys: own,
      totals: [total('f/', random.between(4, 12))],
      workers: workers(random, [8_000, 10_000]),
      jobs: jobs(random, 24, { on: own, span: 300 }),
      faults: [{ kind: 'step', at, by, until: at }],
    }
  },
  /** The handlers of one child take so long that its jobs wait for them in the worker, while another child could have a free one. */
  'slow handlers': (random) => {
    const [slow, quick] = children(random, 2, [1_000, 1_000])
    const concurrency = random.between(3, 5)
    const others = jobs(random, 12, { on: [quick!], span: 6_000 })
    return {
      keys: [slow!, quick!],
      totals: [total('f/', random.between(20, 60))],
      workers: workers(random, [4_000, 6_000])
        .slice(0, random.between(1, 2))
        .map((worker) => ({ ...worker, concurrency })),
      jobs: [
        ...jobs(random, 20, { on: [slow!], takes: [1_200, 2_500] }),
        ...others.map((job) => ({ ...job, id: `q${job.id}` })),
      ].sort((a, b) => a.at - b.at),
    }
  },
  /** Workers have jobs of fast keys as a total comes, and it goes while some of them have asked for their slots; answers may be lost meanwhile. */
  'passing totals': (random) => {
    const own = children(random, 2, [300, 700])
    const over = total('f/', random.between(60, 120))
    const isUnheard = random.chance(0.5)
    const at = random.between(20, 90)
    const goesAfter = isUnheard ? random.between(3_000, 5_000) : random.between(15, 60)
    return {
      keys: own,
      totals: [{ ...over, comesLate: true as const }],
      workers: workers(random, [9_000, 10_000]),
      jobs: jobs(random, 90, { on: own, span: 100, takes: [0, 5] }),
      actions: [
        { do: 'limit', at, ...over, quotas: [] },
        { do: 'unset', at: at + goesAfter, key: 'f/' },
      ],
      faults: isUnheard ? [unheard(random, 'worker-1', at - 20, random.between(1_600, 3_000))] : [],
    }
  },
  /** Turns say more than ten seconds after their end what they used: the store has forgotten them, and others need the rest of the quota. */
  'late settling': (random) => {
    const each = random.between(1, 8)
    const window = random.between(15_000, 20_000)
    const own = children(random, 2, [30, 90]).map((key) => {
      const quota = { amount: 400, window, unit: 'tokens', each: random.between(1, 8) }
      return random.chance(0.5) ? { ...key, quotas: [quota] } : key
    })
    const turns = Array.from({ length: random.between(3, 8) }, (_, n): TurnPlan => {
      const amounts = [random.between(0, 12)]
      const after = random.between(10_200, 14_000)
      return {
        caller: 1,
        key: random.pick(own).key,
        at: 100 + 60 * n,
        cost: 1,
        isTry: false,
        ...(random.chance(0.6) && { costs: { tokens: random.between(1, 12) } }),
        holds: { most: LONGEST_HOLD },
        settles: { unit: 'tokens', amounts, atOnce: true, after, isLate: true },
      }
    })
    const late = jobs(random, 30, { on: own, span: 6_000, takes: [0, 5] })
    const amount = random.between(40, 100)
    return {
      keys: own,
      totals: [
        { ...total('f/', random.between(30, 60)), quotas: [{ amount, window, unit: 'tokens', each }] },
      ],
      callers: 1,
      turns,
      jobs: late.map((job) => ({ ...job, at: job.at + 11_000 })),
    }
  },
} as const satisfies Record<string, (random: Random) => Partial<Plan>>

function children(random: Random, count: number, perSecond: readonly [number, number]): KeyPlan[] {
  return keys(random, count, perSecond, [1_000, 2_000]).map(({ tolerance: _, ...key }) => ({
    ...key,
    key: `f/${key.key}`,
  }))
}

function total(key: string, perSecond: number): KeyPlan {
  return { key, capacity: 10_000, rate: { count: perSecond, per: 1_000 } }
}

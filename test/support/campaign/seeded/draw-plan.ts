import type { ProducerPlan, WorkerPlan } from '../plans.ts'
import { SUBJECTS, type Subject } from './draw-faults.ts'
import { withSets } from './draw-sets.ts'
import { withTotals } from './draw-totals.ts'
import { Draws } from './draws.ts'
import type { SeededPlan } from './plan.ts'
import { withinReach } from './within-reach.ts'

/** What the machine can do beside what every machine can. */
export interface Means {
  readonly hasClockShim: boolean
  readonly hasStrace: boolean
}

/** Longer than a busy machine keeps a process from renewing them; milliseconds. */
const LEASE_MS = 5_000
const LIMITS = ['12, 20/s', '20, 25/s', '30, 40/s', '8, 10/s', '40, 20/s, tolerance 0', '25, 50/s'] as const

/** The plan of a seed: the same whenever the means are. @param about a subject instead of the one that the seed draws */
export function drawPlan(seed: number, means: Means, about?: string): SeededPlan {
  const draws = new Draws(seed)
  const possible = SUBJECTS.filter(({ needs }) => needs === undefined || means[needs])
  const drawn = draws.pick(possible.flatMap((subject) => Array<Subject>(subject.weight).fill(subject)))
  const subject = about === undefined ? drawn : possible.find(({ name }) => name === about)
  if (subject === undefined) throw new Error(`expected a subject that can be drawn here, got: ${about}`)
  const keys = ['a', 'b/x', 'c'].slice(0, draws.between(1, 3))
  const { store, faults, armed } = subject.draw(draws)
  const plan: SeededPlan = {
    seed,
    subject: subject.name,
    store,
    limit: draws.pick(LIMITS),
    limits: draws.hits(0.3) ? { a: draws.pick(LIMITS) } : {},
    keys,
    producers: ['p', 'q'].map((name) => drawProducer(draws, name)),
    workers: Array.from({ length: draws.between(2, 3) }, () => drawWorker(draws)),
    armed: armed ?? [],
    faults: faults.toSorted((a, b) => a.atMs - b.atMs),
  }
  return withinReach(withTotals(withSets(plan)))
}

function drawProducer(draws: Draws, name: string): ProducerPlan {
  const gapMs = draws.hits(0.75) ? draws.between(60, 160) : undefined
  return {
    name,
    jobs: draws.between(18, 30),
    cost: draws.hits(0.2) ? 2 : 1,
    comesBack: draws.hits(0.8),
    ...(gapMs !== undefined && { gapMs }),
    ...(draws.hits(0.4) && { attempts: 3, backoffMs: draws.between(10, 120) }),
    ...(draws.hits(0.4) && { cancels: { every: draws.between(3, 6), withinMs: draws.between(0, 300) } }),
    ...(draws.hits(0.25) && { deadline: { every: draws.between(3, 5), ms: draws.between(100, 1_500) } }),
  }
}

function drawWorker(draws: Draws): WorkerPlan {
  return {
    concurrency: draws.pick([3, 10, 50]),
    leaseMs: LEASE_MS,
    takesMs: draws.pick([0, 5, 20, 60, 300]),
    ...(draws.hits(0.3) && { failFirst: 1 }),
  }
}

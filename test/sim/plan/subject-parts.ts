import type { Random } from '../world/random.ts'
import type { Fault } from './fault.ts'
import type { Action, JobPlan, KeyPlan, Plan, WorkerPlan } from './plan.ts'

export function keys(
  random: Random,
  count: number,
  perSecond: readonly [number, number],
  capacity: readonly [number, number],
): KeyPlan[] {
  return Array.from({ length: count }, (_, n) => ({
    key: `k${n}`,
    capacity: random.between(...capacity),
    rate: { count: 1, per: Math.round(1_000 / random.log(...perSecond)) },
    ...(random.chance(0.5) && { tolerance: 0 }),
  }))
}

/** Two workers with leases of that length, both with a scheduler. */
export function workers(random: Random, lease: readonly [number, number]): WorkerPlan[] {
  return [0, 1].map(() => ({ at: 0, concurrency: 100, lease: random.between(...lease), scheduler: true }))
}

interface Work {
  /** How long handlers take. */
  readonly takes?: readonly [number, number]
  /** In which the jobs are enqueued. */
  readonly span?: number
  readonly costs?: boolean
  readonly retries?: boolean
  readonly batches?: boolean
  readonly on?: readonly KeyPlan[]
}

export function jobs(random: Random, count: number, work: Work): JobPlan[] {
  const { takes = [0, 20], span = 100, costs = false, retries = false, batches = false, on } = work
  const drawn = Array.from({ length: count }, (_, n): JobPlan => {
    const attempts = retries ? random.between(1, 3) : 1
    return {
      id: `j${n}`,
      key: on === undefined ? 'k0' : random.pick(on).key,
      producer: 1,
      at: random.between(0, span),
      cost: costs ? random.between(1, 3) : 1,
      bytes: random.between(0, 40),
      ...(batches && { batch: random.between(1, 3) }),
      attempts,
      backoff: random.between(1, 100),
      comesBack: 0,
      handler: {
        takes: random.between(...takes),
        computes: 0,
        fails: retries ? random.between(0, attempts) : 0,
        hangs: false,
      },
    }
  })
  return drawn.sort((a, b) => a.at - b.at)
}

/** Each names its tokens, and settles them in its handler: once, or twice. */
export function settling(random: Random, plain: readonly JobPlan[]): JobPlan[] {
  return plain.map((job) => {
    const tokens = random.between(1, 6)
    const amounts = [random.between(0, 9), random.between(0, 9)].slice(random.between(0, 1))
    const after = random.next() * job.handler.takes
    const settles = { unit: 'tokens', amounts, atOnce: random.chance(0.5), after, isLate: false }
    return { ...job, costs: { tokens }, handler: { ...job.handler, settles } }
  })
}

export function kill(random: Random, part: string, at: number): Fault {
  const back = random.between(10, 2_000)
  return { kind: 'kill', part, when: { at }, how: 'process', back, until: at + back }
}

export function zombie(random: Random): Fault[] {
  const at = random.between(200, 1_500)
  const lasts = random.between(2_000, 5_000)
  const when = { at, event: random.between(1, 400) }
  return [
    random.chance(0.6)
      ? { kind: 'stop', part: 'worker-1', when, for: lasts, until: at + 3_000 + lasts }
      : outage(random, 'worker-1', at, lasts, 'hold'),
  ]
}

export function stop(random: Random, at: number, lasts: number, part = 'worker-1'): Fault {
  const when = { at, event: random.between(1, 30) }
  return { kind: 'stop', part, when, for: lasts, until: at + 3_000 + lasts }
}

/** A stop between the grant of a slot and the start: shorter than any lease. */
export function hesitation(random: Random, part: string): Fault[] {
  const at = random.between(200, 3_500)
  const lasts = random.between(900, 1_500)
  return [
    { kind: 'stop', part, when: { at, event: random.between(1, 60) }, for: lasts, until: at + 3_000 + lasts },
  ]
}

/** What a process asks for happens, and no answer arrives. */
export function unheard(random: Random, part: string, at: number, lasts: number): Fault {
  const when = { at, event: random.between(1, 30) }
  return { kind: 'hold', part, when, for: lasts, direction: 'back', until: at + 3_000 + lasts }
}

export function outage(
  random: Random,
  part: string,
  at: number,
  lasts: number,
  kind = random.pick(['hold', 'refuse'] as const),
): Fault {
  const until = at + lasts
  if (kind === 'refuse') return { kind, part, at, for: lasts, until }
  return {
    kind: 'hold',
    part,
    when: { at },
    for: lasts,
    direction: random.pick(['there', 'both'] as const),
    until,
  }
}

export function actions(random: Random, key: string, count: number): Action[] {
  const drawn = Array.from({ length: count }, (): Action => {
    const at = random.between(100, 4_500)
    const what = random.pick(['cancel', 'cancel', 'freeze', 'pause'] as const)
    if (what === 'cancel') return { do: what, at, id: `j${random.between(0, 29)}` }
    return { do: what, at, key, for: random.between(300, 1_500) }
  })
  return drawn.sort((a, b) => a.at - b.at)
}

/** The key gets another limit, under which its jobs start in a row, too. */
export function fastChange(random: Random, { key, capacity, quotas }: KeyPlan): Action[] {
  const at = random.between(20, 300)
  const rate = { count: random.between(42, 100), per: 1_000 }
  return random.chance(0.3) ? [{ do: 'limit', at, key, capacity, rate, quotas }] : []
}

/** A start, and a loss that takes it, but not the admission of the jobs behind it. */
export function loss(random: Random, perSecond: readonly [number, number]): Partial<Plan> {
  const own = keys(random, 1, perSecond, [20, 40])
  const interval = own[0]!.rate.per
  const isSlow = interval > 10_000
  const cost = isSlow ? 1 : random.between(1, 3)
  // A start that costs more than those before it, whose costs the store still knows.
  const isLighter = random.chance(0.5)
  // Just after a slot that is not the first, so that the naming of the line and the admissions are older than what is lost.
  const slot = isSlow ? 100 : 15 + (isLighter ? interval : interval * cost * random.between(1, 2))
  const at = Math.round(slot + random.between(isSlow ? 300 : 20, isSlow ? 600 : 200))
  const butLast = Math.min(at - (isSlow ? 80 : 200), at - slot + random.between(10, 250))
  const down = random.between(1, 150)
  const late = jobs(random, isSlow ? 1 : 3, {}).map((job) => ({
    ...job,
    id: `l${job.id}`,
    at: at + down + random.between(50, 1_500),
  }))
  return {
    keys: own,
    jobs: [...jobs(random, isSlow ? 2 : 6, { span: 100 }), ...late].map((job, n) => {
      return { ...job, cost: isLighter && n === 0 ? 1 : cost }
    }),
    faults: [
      { kind: 'restart', at, down, keeps: random.chance(0.25) ? 'nothing' : { butLast }, until: at + down },
    ],
  }
}

export function clock(random: Random, step: number): Partial<Plan> {
  const own = keys(random, 1, [1.5, 4], [20, 40]).map((key) => ({ ...key, tolerance: 0 }))
  const at = random.between(700, 2_500)
  const two = workers(random, [4_000, 6_000])
  // Later than the others take to notice the step.
  const newcomer = { ...two[0]!, at: at + random.between(300, 900) }
  return {
    keys: own,
    workers: [...two, newcomer],
    jobs: jobs(random, 18, { span: 100 }),
    faults: [{ kind: 'step', at, by: random.chance(0.7) ? step : -step, until: at }],
  }
}

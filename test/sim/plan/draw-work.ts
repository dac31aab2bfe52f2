import type { Random } from '../world/random.ts'
import { momentIn, type Span } from './busy.ts'
import type { Size } from './draw.ts'
import { type Action, intervalOf, type JobPlan, type KeyPlan, type TurnPlan } from './plan.ts'

/** Draws the jobs of all producers, by their times. */
export function drawJobs(random: Random, size: Size, keys: readonly KeyPlan[], producers: number): JobPlan[] {
  const count = Math.round(random.log(...size.jobs))
  const costs = random.chance(0.3)
  const retries = random.chance(0.35)
  const deadlines = random.chance(0.2)
  const freezes = random.chance(0.12)
  const large = random.chance(0.04)
  const slow = random.chance(0.3)
  // All at once, in waves, or evenly over the time that they take to depart.
  const shape = random.pick(['burst', 'waves', 'even'] as const)
  const jobs = Array.from({ length: count }, (_, n): JobPlan => {
    const plan = keyOf(random, keys)
    const interval = intervalOf(plan)
    const span = Math.min(size.drain, (interval * count) / keys.length)
    const at = { burst: 0, waves: random.between(0, 3) * (span / 3), even: random.next() * span }[shape]
    const cost = costs
      ? random.weighted([
          [60, 1],
          [35, random.between(2, 5)],
          [5, plan.capacity + random.between(0, 1)],
        ])
      : 1
    const attempts = retries ? random.between(1, 4) : 1
    const isHanging = random.chance(0.01)
    return {
      id: `j${n}`,
      key: plan.key,
      producer: random.between(1, producers),
      at: Math.round(at + random.between(0, 20)),
      // One job alone must not take much longer than all of them should.
      cost: Math.max(1, Math.min(cost, Math.ceil(size.drain / 2 / interval))),
      bytes: large ? Math.round(random.log(1_000, 1_000_000)) : random.between(0, 40),
      ...(random.chance(0.4) && { batch: random.between(1, 3) }),
      ...(deadlines && random.chance(0.4) && { deadline: Math.round(random.log(10, 5_000)) }),
      attempts,
      backoff: Math.round(random.log(1, 500)),
      ...((isHanging || random.chance(0.05)) && { timeout: random.between(100, 2_000) }),
      comesBack: random.pick([0, 0, 2, 5]),
      handler: {
        takes: slow
          ? random.log(1, 2_000)
          : random.weighted([
              [50, 0],
              [50, random.log(0.1, 100)],
            ]),
        computes: random.chance(0.05) ? random.log(0.1, 20) : 0,
        fails: retries ? random.between(0, attempts) : 0,
        ...(freezes && random.chance(0.2) && { freezes: random.between(10, 1_500) }),
        hangs: isHanging,
      },
    }
  })
  return jobs.sort((a, b) => a.at - b.at)
}

/** In some runs a job ends its process: once or twice, or at each of its starts until it fails. Drawn beside all else. */
export function drawExits(random: Random, jobs: readonly JobPlan[]): JobPlan[] {
  if (jobs.length === 0 || !random.chance(0.03)) return [...jobs]
  const poison = random.pick(jobs)
  const exits = random.between(1, 3)
  return jobs.map((job) => (job === poison ? { ...job, handler: { ...job.handler, exits } } : job))
}

/** The first key is the hot one. */
function keyOf(random: Random, keys: readonly KeyPlan[]): KeyPlan {
  return random.chance(0.5) ? keys[0]! : random.pick(keys)
}

export function drawTurns(random: Random, size: Size, keys: readonly KeyPlan[], callers: number): TurnPlan[] {
  if (callers === 0) return []
  const count = Math.min(30, Math.round(random.log(...size.jobs)))
  const turns = Array.from({ length: count }, (): TurnPlan => {
    const plan = keyOf(random, keys)
    const span = Math.min(size.drain, (intervalOf(plan) * count) / keys.length)
    return {
      caller: random.between(1, callers),
      key: plan.key,
      at: Math.round(random.next() * span),
      cost: random.chance(0.15) ? random.between(1, 3) : 1,
      ...(random.chance(0.2) && { timeout: Math.round(random.log(60, 5_000)) }),
      ...(random.chance(0.1) && { aborts: Math.round(random.log(1, 3_000)) }),
      isTry: random.chance(0.1),
    }
  })
  return turns.sort((a, b) => a.at - b.at)
}

/** What the operator does: mostly nothing, and else while work is under way. */
export function drawActions(
  random: Random,
  keys: readonly KeyPlan[],
  jobs: readonly JobPlan[],
  spans: readonly Span[],
): Action[] {
  if (random.chance(0.6)) return []
  const count = random.between(1, 5)
  const actions = Array.from({ length: count }, () => drawAction(random, keys, jobs, spans))
  return actions.sort((a, b) => a.at - b.at)
}

function drawAction(
  random: Random,
  keys: readonly KeyPlan[],
  jobs: readonly JobPlan[],
  spans: readonly Span[],
): Action {
  const { key, capacity, rate } = random.pick(keys)
  const at = Math.floor(momentIn(random, spans).at)
  switch (random.pick(['cancel', 'cancel', 'freeze', 'unfreeze', 'pause', 'limit'] as const)) {
    case 'cancel':
      return { do: 'cancel', at, id: jobs.length === 0 ? 'none' : random.pick(jobs).id }
    case 'freeze':
      return { do: 'freeze', at, key, for: Math.round(random.log(10, 2_000)) }
    case 'unfreeze':
      return { do: 'unfreeze', at, key }
    case 'pause':
      return { do: 'pause', at, key, for: Math.round(random.log(10, 2_000)) }
    case 'limit': {
      const drawn = Math.max(1, Math.min(1_000, Math.round(rate.count * random.log(0.3, 10))))
      // An interval below a millisecond would need a tolerance of its own.
      const count = drawn / rate.per > 0.9 ? rate.count : drawn
      return {
        do: 'limit',
        at,
        key,
        capacity: Math.max(1, Math.round(capacity * random.log(0.3, 3))),
        rate: { count, per: rate.per },
      }
    }
  }
}

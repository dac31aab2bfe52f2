import type { Random } from '../world/random.ts'
import { Random as RandomOf } from '../world/random.ts'
import { busySpans, momentIn, type Span } from './busy.ts'
import { changingSets, sparing } from './change-sets.ts'
import { changingTotals, withLateTotal } from './change-totals.ts'
import { drawFaults } from './draw-faults.ts'
import { withSets } from './draw-sets.ts'
import { withTotals } from './draw-totals.ts'
import { drawActions, drawExits, drawJobs, drawTurns } from './draw-work.ts'
import { intervalOf, type KeyPlan, type Plan, type WorkerPlan } from './plan.ts'
import { REMEMBERED, scarce } from './scarce.ts'
import { drawAbout, type Subject } from './subjects.ts'

/**
 * How large a run is. Small ones find most for what they cost: their processes meet more often than they pass, and ten of them
 * take as long as a large one.
 */
const SIZES: readonly (readonly [number, Size])[] = [
  [80, { keys: [1, 2], jobs: [2, 15], drain: 1_500 }],
  [10, { keys: [1, 3], jobs: [3, 40], drain: 4_000 }],
  [8, { keys: [1, 2], jobs: [1, 8], drain: 8_000 }],
  [1.5, { keys: [2, 8], jobs: [30, 120], drain: 8_000 }],
  [0.2, { keys: [1, 2], jobs: [300, 1_500], drain: 20_000 }],
  [0.3, { keys: [1, 1], jobs: [2, 4], drain: 250_000 }],
]

export interface Size {
  readonly keys: readonly [number, number]
  readonly jobs: readonly [number, number]
  /** How long the work of a key takes at its rate, about; milliseconds. */
  readonly drain: number
}

/** Draws a run: of everything, or about one subject. */
export function drawPlan(seed: number, subject?: Subject): Plan {
  const random = new RandomOf(seed).fork('plan')
  if (subject !== undefined) return drawAbout(subject, random.fork(subject), seed)
  const size = random.weighted(SIZES)
  const shards = random.weighted([
    [88, 1],
    [10, 2],
    [2, 3],
  ])
  const paced = withWarmUps(random.fork('warm-ups'), drawKeys(random, size))
  const producers = random.weighted([
    [78, 1],
    [20, 2],
    [2, 3],
  ])
  const callers = random.weighted([
    [72, 0],
    [22, 1],
    [6, 2],
  ])
  const workers = drawWorkers(random)
  const hasScheduler = workers.some(({ scheduler }) => scheduler)
  const schedulers = hasScheduler ? (random.chance(0.1) ? 1 : 0) : random.between(1, 2)
  const ofKeys = withSets(random.fork('sets'), {
    keys: paced,
    jobs: drawJobs(random.fork('jobs'), size, paced, producers),
    turns: drawTurns(random.fork('turns'), size, paced, callers),
  })
  const { keys, jobs, turns, ...rest } = withTotals(random.fork('totals'), ofKeys)
  const network = drawNetwork(random)
  const spans = busySpans({ keys, jobs, turns, network, ...rest })
  const drawn = drawActions(random.fork('actions'), keys, jobs, spans)
  const actions = changingSets(random.fork('changes'), { keys, ...rest }, drawn, spans)
  const planned = {
    seed,
    shards,
    keys,
    jobs,
    turns,
    ...rest,
    actions: changingTotals(random.fork('changes of totals'), rest.totals ?? [], actions, spans),
    workers: inTime(random.fork('arrivals'), workers, spans),
    producers,
    callers,
    ...(random.fork('together').chance(0.35) && { isTogether: true as const }),
    schedulers,
    clocks: {},
    network,
    keepFinished: REMEMBERED,
    hasScripts: random.fork('scripts').chance(0.85),
    views: random.chance(0.04),
    faults: [],
  }
  const whole = withLateTotal(random.fork('late totals'), planned, spans)
  const exits = drawExits(random.fork('exits'), whole.jobs)
  const faults = sparing(whole, drawFaults(random.fork('faults'), whole))
  const plan = { ...whole, faults, clocks: drawClocks(random.fork('clocks')) }
  return random.chance(0.04) ? scarce(random.fork('scarce'), plan) : { ...plan, jobs: exits }
}

function drawKeys(random: Random, { keys, jobs, drain }: Size): KeyPlan[] {
  const count = random.between(...keys)
  return Array.from({ length: count }, (_, index) => {
    const most = (1_000 * Math.min(40, jobs[1])) / drain / count
    // So slow that the work would take much too long is no use; the first key is the hot one.
    const slowest = Math.max(0.2, most / 3)
    const fastest = index === 0 && drain < 100_000 ? 1_000 : Math.max(200, slowest)
    const perSecond = drain < 100_000 ? random.log(slowest, fastest) : random.log(most / 2, most * 2)
    const rate = ratePlan(random, Math.min(perSecond, 1_000))
    const interval = intervalOf({ rate })
    const tolerance = random.weighted<number | undefined>([
      [60, undefined],
      [20, 0],
      [20, Math.floor((random.next() * interval * 1_000) / 4) / 1_000],
    ])
    // A line that is never full tests no bound.
    const capacity = random.weighted([
      [55, random.between(1, Math.min(20, Math.ceil(jobs[1] / 2)))],
      [40, random.between(10, 200)],
      [5, 10_000],
    ])
    const name = random.pick(['k', 'a/x', 'a/y', 'b/ü', 'c d'])
    // An interval below a millisecond must say its tolerance.
    const needs =
      interval < 1 && tolerance === undefined ? { tolerance: Math.floor(interval * 250) / 1_000 } : {}
    return { key: `${name}${index}`, capacity, rate, ...(tolerance !== undefined && { tolerance }), ...needs }
  })
}

/** In some runs, keys begin slowly after a rest. Strict ones do not: `docs/redis.md`, what does not hold. */
function withWarmUps(random: Random, keys: readonly KeyPlan[]): readonly KeyPlan[] {
  if (!random.chance(0.1)) return keys
  return keys.map((key) => {
    if (key.tolerance === 0) return key
    const from = { ...key.rate, per: Math.ceil(key.rate.per * random.log(1.2, 4)) }
    return { ...key, warmUp: { lasts: Math.round(random.log(50, 2_000)), from } }
  })
}

function ratePlan(random: Random, perSecond: number): KeyPlan['rate'] {
  if (random.chance(0.5)) {
    if (perSecond >= 1) return { count: Math.round(perSecond), per: 1_000 }
    return { count: 1, per: Math.round(1_000 / perSecond) }
  }
  const per = random.pick([1_000, 3_000, 7_000, 60_000])
  return { count: Math.max(1, Math.round((perSecond * per) / 1_000)), per }
}

function drawWorkers(random: Random): WorkerPlan[] {
  const count = random.weighted([
    [52, 1],
    [38, 2],
    [8, 3],
    [2, 4],
  ])
  return Array.from({ length: count }, (_, index) => ({
    at: index === 0 ? 0 : random.between(0, 800),
    concurrency: random.weighted([
      [20, 1],
      [30, random.between(2, 10)],
      [50, 100],
    ]),
    lease: random.weighted([
      [30, 10_000],
      [35, 5_000],
      [35, random.between(1_000, 4_000)],
    ]),
    scheduler: random.chance(0.85),
  }))
}

/** Workers begin while work is under way: one that comes later finds none, and costs as much as those that do. */
function inTime(random: Random, workers: readonly WorkerPlan[], spans: readonly Span[]): WorkerPlan[] {
  return workers.map((worker) => {
    const { at } = momentIn(random, spans)
    return { ...worker, at: Math.min(worker.at, Math.floor(at)) }
  })
}

function drawNetwork(random: Random): Plan['network'] {
  const way = (least: number) => ({
    least,
    jitter: random.log(5, least * 2),
    spikes: random.pick([0, 0, 0.01, 0.05]),
    spike: random.log(1_000, 50_000),
  })
  const least = random.weighted([
    [70, random.log(20, 300)],
    [22, random.log(300, 3_000)],
    [8, random.log(3_000, 30_000)],
  ])
  const isSame = random.chance(0.8)
  return {
    there: way(least),
    back: way(isSame ? least : random.log(20, 30_000)),
    splits: random.weighted([
      [60, 0],
      [30, 0.05],
      // Each piece costs as much as a write: with more of them a run would take as long as three others.
      [10, 0.25],
    ]),
  }
}

function drawClocks(random: Random): Plan['clocks'] {
  const names = ['producer', 'worker', 'caller', 'scheduler'].flatMap((role) =>
    [1, 2, 3, 4].map((n) => `${role}-${n}`),
  )
  const clock = () => ({
    offset: random.weighted([
      [50, 0],
      [30, random.between(-2_000_000, 2_000_000)],
      [20, random.between(-86_400_000_000, 86_400_000_000)],
    ]),
    drift: random.between(-200, 200),
  })
  return Object.fromEntries(names.map((name) => [name, clock()]))
}

import type { Random } from '../world/random.ts'
import { busySpans, momentIn } from './busy.ts'
import { type Fault, type Keeps, strikesBy, type When } from './fault.ts'
import { firstAlone, intervalOf, type Plan } from './plan.ts'

/** Draws a moment at which work is under way, and when that work is over; milliseconds. */
type DrawMoment = (random: Random) => { readonly at: number; readonly until: number }

/** What faults are drawn for. */
interface Stage {
  /** The parts that are played at a time. */
  readonly partsAt: (ms: number) => readonly string[]
  readonly moment: DrawMoment
  /** A fault strikes at this event of a process at the latest: further ones come when the work is over. */
  readonly mostEvents: number
}

/** Events of a worker for each job, about, and those without any job. */
const EVENTS_OF_A_JOB = 15
const EVENTS_BESIDES = 60

/**
 * Draws what goes wrong, while work is under way: nothing in a fifth of the runs, and rarely more than four things.
 */
export function drawFaults(random: Random, plan: Plan): Fault[] {
  const count = random.weighted([
    [20, 0],
    [30, 1],
    [25, 2],
    [12, 3],
    [8, 4],
    [5, 8],
  ])
  const spans = busySpans(plan)
  const moment: DrawMoment = (own) => momentIn(own, spans)
  const mostEvents = EVENTS_BESIDES + EVENTS_OF_A_JOB * (plan.jobs.length + plan.turns.length)
  const stage = {
    partsAt: (ms: number) => partsAt(plan, ms),
    moment,
    mostEvents: Math.min(3_000, mostEvents),
  }
  const faults = Array.from({ length: count }, () => tamed(drawFault(random, stage), plan))
  const refusals = drawRefusals(random.fork('refusals'), faults, moment)
  const rests = drawRests(random.fork('rests'), plan, moment)
  return [...faults, ...refusals, ...rests].sort((a, b) => a.until - b.until)
}

/** What a server says after a failover or a start; drawn beside all else, so that each seed keeps its other faults. */
function drawRefusals(random: Random, faults: readonly Fault[], moment: DrawMoment): Fault[] {
  if (!random.chance(0.06)) return []
  const restart = faults.find((fault) => fault.kind === 'restart')
  const at = restart === undefined ? moment(random).at : restart.until
  const length = Math.round(random.log(5, 5_000))
  const says = random.pick(['READONLY', 'NOREPLICAS', 'LOADING'] as const)
  return [{ kind: 'refusal', at, for: length, says, until: at + length }]
}

/** Workers that close in a process that lives on; drawn beside all else, too. */
function drawRests(random: Random, plan: Plan, moment: DrawMoment): Fault[] {
  if (!random.chance(0.08)) return []
  return Array.from({ length: random.between(1, 2) }, () => {
    const { at } = moment(random)
    const length = Math.round(random.log(1, 3_000))
    return { kind: 'rest', part: random.pick(workersAt(plan, at)), at, for: length, until: at + length }
  })
}

/** A server that forgot everything makes each bucket wait for as long as its capacity takes: not longer than a minute here. */
function tamed(fault: Fault, { keys }: Plan): Fault {
  if (fault.kind !== 'restart' || fault.keeps === 'all') return fault
  const longest = Math.max(...keys.map((key) => key.capacity * intervalOf(key)))
  return longest > 60_000 ? { ...fault, keeps: 'all' } : fault
}

function partsAt(plan: Plan, ms: number): string[] {
  const { producers, callers, schedulers } = plan
  const named = (role: string, length: number, from = 1) =>
    Array.from({ length: Math.max(0, length + 1 - from) }, (_, n) => `${role}-${from + n}`)
  const first = firstAlone(plan)
  const begun = workersAt(plan, ms)
  return [
    // Workers most often: they do the most.
    ...begun,
    ...begun,
    ...named('producer', producers, first),
    ...named('caller', callers, first),
    ...named('scheduler', schedulers),
  ]
}

function workersAt({ workers }: Plan, ms: number): string[] {
  return workers.flatMap(({ at }, n) => (at <= ms ? [`worker-${n + 1}`] : []))
}

function drawFault(random: Random, { partsAt, moment, mostEvents }: Stage): Fault {
  const { at, until } = moment(random)
  const part = random.pick(partsAt(at))
  const partOrAll = random.chance(0.35) ? 'all' : part
  const drawWhen = () => drawnWhen(random, { at, until, mostEvents })
  const outage = () =>
    Math.round(
      random.weighted([
        [72, random.log(5, 2_000)],
        [26, random.log(1_000, 10_000)],
        [2, random.log(10_000, 90_000)],
      ]),
    )
  switch (random.weighted(KINDS)) {
    case 'kill': {
      const when = drawWhen()
      const back = random.log(1, 3_000)
      const how = random.chance(0.75) ? 'process' : 'machine'
      return { kind: 'kill', part, when, how, back, until: strikesBy(when) + back }
    }
    case 'stop': {
      const when = drawWhen()
      const length = random.weighted([
        [68, random.log(1, 1_000)],
        [30, random.log(1_000, 12_000)],
        [2, random.log(10_000, 40_000)],
      ])
      const kind = random.chance(0.7) ? 'stop' : 'block'
      return { kind, part, when, for: length, until: strikesBy(when) + length }
    }
    case 'close': {
      const back = random.log(1, 1_000)
      const drain = random.chance(0.5) ? { drain: random.between(0, 2_000) } : {}
      return { kind: 'close', part, at, ...drain, back, until: at + back + (drain.drain ?? 0) }
    }
    case 'hold': {
      const length = outage()
      const direction = random.pick(['there', 'back', 'both', 'both'] as const)
      const when = partOrAll === 'all' ? { at } : drawWhen()
      return { kind: 'hold', part: partOrAll, when, for: length, direction, until: strikesBy(when) + length }
    }
    case 'reset': {
      const when = drawWhen()
      return {
        kind: 'reset',
        part: partOrAll === 'all' && when.at === at ? 'all' : part,
        when,
        after: random.log(0.001, 5),
        until: strikesBy(when) + 10,
      }
    }
    case 'refuse': {
      const length = outage()
      return { kind: 'refuse', part: partOrAll, at, for: length, until: at + length }
    }
    case 'slow': {
      const length = outage()
      const way = () => ({
        least: random.log(100, 60_000),
        jitter: random.log(100, 30_000),
        spikes: 0.05,
        spike: 200_000,
      })
      return { kind: 'slow', part: partOrAll, at, for: length, there: way(), back: way(), until: at + length }
    }
    case 'stall': {
      const length = outage()
      return { kind: 'stall', at, for: length, until: at + length }
    }
    case 'restart': {
      const down = random.log(1, 6_000)
      const keeps = random.weighted<Keeps>([
        [80, 'all'],
        [5, 'nothing'],
        [15, { butLast: random.log(1, 2_000) }],
      ])
      return { kind: 'restart', at, down, keeps, until: at + down }
    }
    case 'step': {
      const size = random.weighted([
        [50, random.log(1, 1_000)],
        [35, random.log(1_000, 60_000)],
        [15, 86_400_000],
      ])
      return { kind: 'step', at, by: random.chance(0.5) ? size : -size, until: at }
    }
    case 'wall':
      return { kind: 'wall', part, at, by: random.pick([-1, 1]) * random.log(1, 86_400_000), until: at }
    case 'flush-scripts':
      return { kind: 'flush-scripts', at, until: at }
  }
}

const KINDS = [
  [18, 'kill'],
  [14, 'stop'],
  [10, 'close'],
  [16, 'hold'],
  [12, 'reset'],
  [5, 'refuse'],
  [5, 'slow'],
  [5, 'stall'],
  [6, 'restart'],
  [4, 'step'],
  [2, 'wall'],
  [3, 'flush-scripts'],
] as const

/** At a time, or at the n-th event or write from then on, if that comes while the work lasts. */
function drawnWhen(
  random: Random,
  { at, until, mostEvents }: { readonly at: number; readonly until: number; readonly mostEvents: number },
): When {
  const drawn = random.next()
  if (drawn < 0.4) return { at }
  const count = Math.round(random.log(1, mostEvents))
  const by = at + (0.3 + 0.6 * random.next()) * (until - at)
  return drawn < 0.7 ? { at, by, event: count } : { at, by, write: Math.max(1, Math.round(count / 5)) }
}
